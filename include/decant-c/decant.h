//===- decant.h - the C API of compiler and engine ----------------*- C -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles specs to kernels, and prepares them on a device. libdecant has these
// functions and all of decant_runtime.h and decant_pack.h, whose rules on
// errors, structs, memory and threads hold here too. In short:
//
//     spec file --ReadFile--> DecantSpec --EnginePrepare--> DecantProgram
//                                |    (cache or compiler)     Step, Flush, ...
//                                +--Compile--> DecantImage --SaveFile--> file
//                                +--Emit-----> text of a stage
//
// A file that decantImageSaveFile wrote is loaded by decantImageLoadFile, also
// in a process that has libdecant_runtime alone. Link with one of the two
// libraries: a handle of one means nothing to the other.
//
// Ownership ...Create, ...Open, ...Read and ...Compile give a handle to the
//           caller, ...ToJson and decantEmit a text; each goes back by the
//           ...Destroy or ...Close of its kind (null is fine). Handles do not
//           need each other after the call that took them: a device and a
//           program outlive their engine and spec.
// Time      Compiling and preparing take up to seconds: call them before
//           serving, not within it.
// Process   The LLVM in libdecant is hidden: others in the process do not see
//           it, and it does not see them. The library stays loaded once it is,
//           even after dlclose.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_C_DECANT_H
#define DECANT_C_DECANT_H

#include "decant-c/decant_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A spec that was read; it does not change. */
typedef struct DecantSpec DecantSpec;
/* Compiler, cache and devices, tied together. */
typedef struct DecantEngine DecantEngine;

/* Versions of Decant and of the LLVM inside, for people and cache keys; never
   null, and never freed. decantRuntimeVersion() is the one to compare. */
DECANT_API const char *decantVersion(void);
/* Frees a text that a function of this header gave to the caller. */
DECANT_API void decantTextDestroy(char *text);

/* ---- Presets ------------------------------------------------------------ */

typedef enum DecantPresetKind {
  DECANT_PRESET_RULE = 0,   /* what a token does to a state, MLIR */
  DECANT_PRESET_METHOD = 1, /* a state's format and window, part of a spec */
  DECANT_PRESET_MODEL = 2   /* a complete spec */
} DecantPresetKind;

typedef struct DecantPresetInfo {
  size_t struct_size;
  int32_t kind; /* DecantPresetKind */
  int32_t reserved;
  const char *name;
  const char *description; /* one line, may be empty */
  const char *text;        /* the file */
} DecantPresetInfo;

/* How many presets are built into the library. */
DECANT_API DecantStatus decantPresetGetCount(int32_t *count);
/* Preset number `index`, 0 .. count - 1, by kind and then name. Its texts live
   as long as the library. */
DECANT_API DecantStatus decantPresetGet(int32_t index, DecantPresetInfo *info);

/* ---- Specs -------------------------------------------------------------- */

/* Reads a spec file (UTF-8 path), or the preset of that name; a name with a
   slash or ending in .json is a file. `overrides`, "path=value" each
   ("window.length=1"), change fields in order; null with a count of 0. */
DECANT_API DecantStatus decantSpecReadFile(const char *spec,
                                           const char *const *overrides,
                                           size_t override_count,
                                           DecantSpec **result);
/* The same from JSON text. Rule files that it names are looked for in
   `folder`; null is the working directory. */
DECANT_API DecantStatus decantSpecReadText(const char *text, const char *folder,
                                           const char *const *overrides,
                                           size_t override_count,
                                           DecantSpec **result);
DECANT_API void decantSpecDestroy(DecantSpec *spec);
/* The spec with every field written out and the rule's text inside: it reads
   back as an equal spec, without any file. */
DECANT_API DecantStatus decantSpecToJson(const DecantSpec *spec, char **text);
/* What kernels for the spec depend on, one field a line: equal for specs that
   differ in their names alone. A pack is asked for a spec by it. */
DECANT_API DecantStatus decantSpecToKey(const DecantSpec *spec, char **text);

/* ---- Compiling ---------------------------------------------------------- */

typedef enum DecantKernels {
  DECANT_KERNELS_DECODE = 0,  /* step and flush */
  DECANT_KERNELS_TRANSFER = 1 /* pack and unpack */
} DecantKernels;

typedef struct DecantCompileOptions {
  size_t struct_size;
  const char *target;   /* "sm_80", "sm_90a", ..., or "x86-64" */
  const char *schedule; /* as `decant compile` prints it; null: the default */
  int32_t kernels;      /* DecantKernels */
  int32_t reserved;
} DecantCompileOptions;

/* Compiles for a target that need not be here; no device, cache or environment
   is used, except that "x86-64" is the processor that this runs on. */
DECANT_API DecantStatus decantCompile(const DecantSpec *spec,
                                      const DecantCompileOptions *options,
                                      DecantImage **image);
/* Writes an image for decantImageLoadFile. The file appears whole or not at
   all, in place of what was there. */
DECANT_API DecantStatus decantImageSaveFile(const DecantImage *image,
                                            const char *path);
/* The program as text after `stage`: "spec" (JSON), "rule", "windowed",
   "formatted", "scheduled", "tiled", "mapped", "llvm" (MLIR), or "image" (PTX,
   or assembly for x86-64). */
DECANT_API DecantStatus decantEmit(const DecantSpec *spec,
                                   const DecantCompileOptions *options,
                                   const char *stage, char **text);

/* ---- Engines ------------------------------------------------------------ */

typedef enum DecantCacheMode {
  DECANT_CACHE_DISK = 0,   /* in memory, and in a folder for other processes */
  DECANT_CACHE_MEMORY = 1, /* as long as the engine lives */
  DECANT_CACHE_OFF = 2     /* nowhere: every prepare compiles */
} DecantCacheMode;

/* Variants of a kernel form sums in different orders. */
typedef enum DecantVariants {
  DECANT_VARIANTS_DEFAULT = 0,  /* $DECANT_VARIANTS (by_batch, one or fixed), or
                                   by batch */
  DECANT_VARIANTS_BY_BATCH = 1, /* the fastest for a batch, by tuning records */
  DECANT_VARIANTS_ONE = 2,  /* the record's one for all batches: outputs do not
                               depend on the batch */
  DECANT_VARIANTS_FIXED = 3 /* nor on what was tuned: no record is looked at */
} DecantVariants;

/* Tuning times schedules on scratch slots, which takes a minute. Of all
   processes that share a folder of records one does it, and the others take
   what it has found. */
typedef enum DecantTune {
  DECANT_TUNE_DEFAULT = 0, /* $DECANT_TUNE (never or if_missing), or never */
  DECANT_TUNE_NEVER = 1,
  DECANT_TUNE_IF_MISSING = 2 /* where neither a record nor a pack is there */
} DecantTune;

typedef struct DecantEngineOptions {
  size_t struct_size;
  /* Null: $DECANT_CACHE_DIR, else $XDG_CACHE_HOME/decant, else
     $HOME/.cache/decant; without any of them DECANT_CACHE_MEMORY is meant. Only
     with DECANT_CACHE_DISK. */
  const char *cache_folder;
  int32_t cache_mode; /* DecantCacheMode */
  /* That run a call on the CPU device, the caller's among them; 0: one per
     processor, 16 at most. Results do not depend on it. */
  int32_t threads;
  /* Folders that are looked into after cache_folder and never written, with
     colons between them; null: $DECANT_CACHE_PATH. Only with
     DECANT_CACHE_DISK. */
  const char *cache_layers;
  /* The most that cache_folder may hold: what was unused for longest goes. 0:
     $DECANT_CACHE_LIMIT (as "512M"), else 2 GiB; -1: no limit. */
  int64_t cache_bytes;
  int32_t variants; /* DecantVariants */
  int32_t tune;     /* DecantTune */
  /* Files of `decant compile --pack`, with colons between them, that are looked
     into before the cache; null: $DECANT_PACKS. They are opened at once. */
  const char *packs;
} DecantEngineOptions;

/* How long decantEnginePrepare took, milliseconds. The texts live as long as
   the engine; null where there is nothing to say. */
typedef struct DecantPrepareReport {
  size_t struct_size;
  int32_t warm; /* all kernels came from the cache */
  int32_t reserved;
  double lookup_ms;        /* in the cache */
  double compile_ms;       /* 0 when warm; of both images, made at once */
  double load_ms;          /* onto the device, the driver's compiler included */
  double total_ms;         /* until the layer was ready */
  const char *miss_reason; /* why the cache had no kernels */
  /* One line each: why kernels are not kept on disk (said once), and entries of
     the cache that were damaged. */
  const char *warning;
  double link_ms;     /* PTX to machine code, by the driver; as compile_ms */
  const char *target; /* that the kernels are for */
  /* Why that is not the device's own target: a device that this library does
     not know, or a driver that does not read its PTX. */
  const char *target_note;
  const char *pack; /* the first pack that kernels came from */
  /* Who chose the schedules: a tuning record, "user, FILE", "site, FILE" or
     "bundled, NAME", or "pack, FILE"; null: nobody, they are the usual ones. */
  const char *schedules_from;
  int32_t tuned; /* that record was made now, by this call */
  int32_t reserved_too;
} DecantPrepareReport;

/* What an engine has done since it was made. While a host that is warm decodes,
   none of it grows. */
typedef struct DecantEngineCounters {
  size_t struct_size;
  int64_t compiles; /* images that the compiler made, or failed to */
  int64_t links;    /* images that the driver made machine code of */
  int64_t loads;    /* programs loaded onto a device */
  int64_t memory_hits, disk_hits, misses; /* of the cache */
  int64_t layer_hits;                     /* of disk_hits, in a read-only one */
  int64_t stores;                         /* entries written */
  int64_t adopted;     /* entries that another process wrote first */
  int64_t quarantined; /* damaged entries moved away */
  int64_t evicted;     /* entries given up for others */
  int64_t packed;      /* images read from packs */
  int64_t tunings;     /* searches for schedules */
} DecantEngineCounters;

/* `options` null: all defaults. Reads the environment, once, and touches no
   folder before it prepares. Engines do not share anything but folders. */
DECANT_API DecantStatus decantEngineCreate(const DecantEngineOptions *options,
                                           DecantEngine **engine);
DECANT_API void decantEngineDestroy(DecantEngine *engine);
/* Opens "cpu" or "cuda:N". Device memory of the CPU is host memory, and its
   streams are null; its calls are done when they return. */
DECANT_API DecantStatus decantEngineOpenDevice(DecantEngine *engine,
                                               const char *name,
                                               DecantDevice **device);
/* Kernels for `spec`, all of them, on `device`: which schedules, by a tuning
   record, else a pack, else tuning if that is allowed; their code from a pack,
   the cache or the compiler.
   Threads that want the same kernels wait for the one that compiles them.
   Default kernels that spill registers give way to those of fewer blocks per
   SM, and the report warns; a GPU kernel that spills still is refused. `report`
   may be null. */
DECANT_API DecantStatus decantEnginePrepare(DecantEngine *engine,
                                            const DecantSpec *spec,
                                            const DecantDevice *device,
                                            DecantPrepareReport *report,
                                            DecantProgram **program);
/* The same, and refused, with the layer's shape, while `stream` is captured: a
   capture must not compile or load. Of the default stream (null), and with
   decantEnginePrepare: while one that waits for it is captured. */
DECANT_API DecantStatus decantEnginePrepareForStream(
    DecantEngine *engine, const DecantSpec *spec, const DecantDevice *device,
    void *stream, DecantPrepareReport *report, DecantProgram **program);
DECANT_API DecantStatus decantEngineGetCounters(const DecantEngine *engine,
                                                DecantEngineCounters *counters);

#ifdef __cplusplus
}
#endif

#endif /* DECANT_C_DECANT_H */
