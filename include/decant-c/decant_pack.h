//===- decant_pack.h - packs in C ---------------------------------*- C -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pack is one file with the kernels of one or several specs, for several
// devices and sizes of batches; `decant compile --pack` writes it. Both
// libdecant_runtime and libdecant read it, by the rules of decant_runtime.h on
// errors, structs, handles and threads:
//
//     decantPackOpen ---> decantProgramCreateFromPack ---> Step, Flush, ...
//                |
//                +------> decantPackLoadImage ---> decantProgramCreate
//
// Opening reads the index, and each image is read and verified when it is asked
// for. A damaged one is named, and the others stay usable.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_C_DECANT_PACK_H
#define DECANT_C_DECANT_PACK_H

#include "decant-c/decant_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct DecantPack DecantPack;

DECANT_API DecantStatus decantPackOpen(const char *path, DecantPack **pack);
/* Programs that were made from it do not need it. */
DECANT_API void decantPackClose(DecantPack *pack);

typedef struct DecantPackInfo {
  size_t struct_size;
  int64_t file_bytes;
  int32_t spec_count;
  int32_t variant_count;
  int64_t images_read; /* since it was opened */
  int64_t bytes_read;
  int64_t images_loaded; /* onto a device; no call of a program adds to it */
} DecantPackInfo;
DECANT_API DecantStatus decantPackGetInfo(const DecantPack *pack,
                                          DecantPackInfo *info);

typedef struct DecantPackSpecInfo {
  size_t struct_size;
  const char *name;
  int32_t tokens_per_step;
  int32_t reserved;
} DecantPackSpecInfo;
/* Spec number `index`, 0 .. spec_count - 1. */
DECANT_API DecantStatus decantPackGetSpec(const DecantPack *pack, int32_t index,
                                          DecantPackSpecInfo *info);

typedef struct DecantPackVariantInfo {
  size_t struct_size;
  int32_t spec;     /* its number */
  int32_t transfer; /* pack and unpack; else step and flush */
  const char *target;
  const char *kind;     /* "ptx", "cubin" or "host_object" */
  const char *schedule; /* how its work is cut */
  int64_t slot_bytes;
  int64_t bytes; /* that loading it reads */
  /* The batches that it is the pick for: bounds of ranges of rows, going up,
     INT64_MAX for any number. None: a candidate, or transfer kernels. */
  const int64_t *max_rows;
  int32_t max_rows_count;
  int32_t reserved;
} DecantPackVariantInfo;
/* Variant number `index`, 0 .. variant_count - 1. */
DECANT_API DecantStatus decantPackGetVariant(const DecantPack *pack,
                                             int32_t index,
                                             DecantPackVariantInfo *info);
DECANT_API DecantStatus decantPackLoadImage(const DecantPack *pack,
                                            int32_t variant,
                                            DecantImage **image);

typedef struct DecantPackQuery {
  size_t struct_size;
  /* The spec's name in the pack; null: by spec_text, or the pack's only one. */
  const char *spec;
  /* What decantSpecToKey gives for a spec; when given, the name does not
     matter. Null else. */
  const char *spec_text;
  int32_t tokens_per_step; /* 0: what the one spec of that name has */
  int32_t decode_only;     /* leave pack and unpack out */
  /* The batches that will be run, 0 for no bound: images that are the pick for
     others only are not read. */
  int64_t min_rows, max_rows;
} DecantPackQuery;

/* Texts live as long as the pack. */
typedef struct DecantPackReport {
  size_t struct_size;
  const char *target; /* of the variants that were loaded */
  const char *note; /* what runs in place of the device's own target, or null */
  int32_t decode_count;
  int32_t reserved;
  double read_ms; /* from the file, every byte verified */
  double load_ms; /* onto the device, the driver's compiler included */
  int64_t bytes;  /* read */
} DecantPackReport;

/* The kernels of one spec for `device`: its own target's, else PTX of the
   nearest older one; of several sizes of batches, each call runs its own. Says
   what the pack has where it has nothing that runs. `report` may be null. */
DECANT_API DecantStatus decantProgramCreateFromPack(
    const DecantDevice *device, DecantPack *pack, const DecantPackQuery *query,
    DecantPackReport *report, DecantProgram **program);

#ifdef __cplusplus
}
#endif

#endif /* DECANT_C_DECANT_PACK_H */
