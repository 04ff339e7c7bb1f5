//===- decant_runtime.h - the C API of the runtime ----------------*- C -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads compiled kernel images and runs them inside a host program. Needs no
// compiler and no CUDA toolkit, only the NVIDIA driver, which is opened when a
// device is.
//
// Errors    Every function that can fail returns a DecantStatus and leaves one
//           paragraph in decantLastError(), which names the argument, what was
//           found and what is allowed. No exception leaves a function. A call
//           that is refused has done nothing.
// Ownership ...Open, ...Load and ...Create give a handle to the caller, who
//           gives it back with ...Close or ...Destroy (null is fine). A program
//           keeps what it needs of its device and images, so these may be given
//           back in any order. ...Get fills in the caller's struct; its text
//           lives as long as the handle.
// Structs   begin with their size: set struct_size = sizeof the struct, and all
//           other fields to 0 (DECANT_INIT does both). A library takes structs
//           of older headers, and refuses larger ones than it knows.
// Memory    Pointers are to device memory unless "host" is said. Strides count
//           elements unless their name says bytes; 0 means packed. They are
//           64-bit. Heads and dims of a row are contiguous.
// Streams   is a CUstream (or cudaStream_t); null is the default stream. All
//           work is asynchronous on it. Step, Commit, Flush, Pack, Unpack, Zero
//           and Copy allocate no device memory, compile nothing and never wait,
//           so they may be captured in a CUDA graph.
// Threads   A handle may be used from several threads at once; closing one may
//           not race with its use. decantLastError() is of the calling thread.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_C_DECANT_RUNTIME_H
#define DECANT_C_DECANT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DECANT_API __attribute__((visibility("default")))
#else
#define DECANT_API
#endif

/* Major * 10000 + minor * 100 + patch of this header. */
#define DECANT_RUNTIME_VERSION 100

/* An initializer for a struct that begins with its size. */
#ifdef __cplusplus
#define DECANT_INIT(Type)                                                      \
  []() {                                                                       \
    Type decantInit_ = Type();                                                 \
    decantInit_.struct_size = sizeof(Type);                                    \
    return decantInit_;                                                        \
  }()
#else
#define DECANT_INIT(Type) {.struct_size = sizeof(Type)}
#endif

typedef enum DecantStatus {
  DECANT_OK = 0,
  DECANT_JOB_FAILED = 1,    /* the input was fine, the work did not succeed */
  DECANT_INVALID_INPUT = 2, /* an argument or a file is wrong */
  DECANT_UNAVAILABLE = 3,   /* no driver or device, or too old a driver */
  DECANT_INTERNAL = 4       /* a mistake of Decant's own */
} DecantStatus;

typedef enum DecantType {
  DECANT_F32 = 0,
  DECANT_F16 = 1,
  DECANT_BF16 = 2,
  DECANT_INT8 = 3,
  DECANT_INT32 = 4
} DecantType;

/* Which slot numbers mark padding rows: no slot is touched, the output is 0. */
typedef enum DecantPadPolicy {
  DECANT_PAD_NONE = 0,
  DECANT_PAD_NEGATIVE = 1,
  DECANT_PAD_NON_POSITIVE = 2
} DecantPadPolicy;

typedef struct DecantDevice DecantDevice;
typedef struct DecantImage DecantImage;
typedef struct DecantProgram DecantProgram;

/* DECANT_RUNTIME_VERSION of the library. */
DECANT_API uint32_t decantRuntimeVersion(void);
/* What went wrong in the last failed call of this thread; never null, and valid
   until this thread's next call. */
DECANT_API const char *decantLastError(void);
/* "invalid input", ...; never null. */
DECANT_API const char *decantStatusName(int status);

/* ---- Devices ------------------------------------------------------------ */

typedef struct DecantDeviceInfo {
  size_t struct_size;
  const char *name;
  int32_t is_cuda;
  int32_t ordinal;
  int32_t compute_major, compute_minor; /* 9, 0 for sm_90; 0, 0 for a CPU */
  int32_t driver_version;               /* 13000 for CUDA 13.0 */
  int32_t reserved;
  int64_t memory_bytes;
  int64_t max_shared_bytes; /* per block */
} DecantDeviceInfo;

/* Opens the NVIDIA device number `ordinal` and holds its primary context. */
DECANT_API DecantStatus decantDeviceOpenCuda(int32_t ordinal,
                                             DecantDevice **device);
DECANT_API void decantDeviceClose(DecantDevice *device);
DECANT_API DecantStatus decantDeviceGetInfo(const DecantDevice *device,
                                            DecantDeviceInfo *info);

/* ---- Images ------------------------------------------------------------- */

typedef struct DecantImageInfo {
  size_t struct_size;
  const char *spec_name;
  const char *target;   /* "sm_90a" */
  const char *kind;     /* "ptx", "cubin" or "host_object" */
  const char *compiler; /* what made it */
  int32_t ptx_isa;      /* 86 for PTX ISA 8.6, else 0 */
  int32_t reserved;
  int64_t slot_bytes;
  int64_t code_bytes;
} DecantImageInfo;

/* Reads an image file and verifies its hash; no device is needed. */
DECANT_API DecantStatus decantImageLoadFile(const char *path,
                                            DecantImage **image);
/* The same from host memory, which is copied. */
DECANT_API DecantStatus decantImageLoadBytes(const void *bytes, size_t size,
                                             DecantImage **image);
DECANT_API void decantImageDestroy(DecantImage *image);
DECANT_API DecantStatus decantImageGetInfo(const DecantImage *image,
                                           DecantImageInfo *info);

/* ---- Programs ----------------------------------------------------------- */

typedef struct DecantProgramInfo {
  size_t struct_size;
  const char *spec_name;
  const char *target;
  int64_t slot_bytes; /* one sequence's state, records and cursor included */
  int64_t slot_align; /* of a pool's base and stride, bytes */
  int64_t head_bytes;
  int32_t heads; /* value heads */
  int32_t key_dim, value_dim;
  int32_t window; /* tokens */
  int32_t compensators;
  int32_t pad_policy;           /* DecantPadPolicy */
  int64_t state_bytes_per_head; /* codes, scales and compensators */
  double bits_per_element;      /* the same, per element of K x V */
  int64_t max_rows;             /* of one call */
  int32_t step_argument_count;
  int32_t can_transfer;    /* pack and unpack were given */
  int32_t tokens_per_step; /* most of a row; beyond 1 a commit follows a step */
  int32_t variant_count;   /* decode images, for batches of different sizes */
} DecantProgramInfo;

typedef struct DecantArgumentInfo {
  size_t struct_size;
  const char *name;
  int32_t is_pointer; /* else an int64 */
  int32_t type;       /* DecantType of what it points at */
  int32_t writable;
  int32_t align;     /* bytes, of the pointer and of its row stride */
  int64_t row_width; /* elements of a row, 0 where rows do not apply */
} DecantArgumentInfo;

/* Loads both images on `device`. `transfer` may be null: then pack and unpack
   are refused. Both must come from one spec. This is where PTX is compiled by
   the driver; it takes milliseconds to seconds. */
DECANT_API DecantStatus decantProgramCreate(const DecantDevice *device,
                                            const DecantImage *decode,
                                            const DecantImage *transfer,
                                            DecantProgram **program);
/* Which of several decode images runs a batch. This struct never changes. */
typedef struct DecantBatchRule {
  int64_t max_rows; /* takes batches of up to so many; 0, in the last: any */
  int32_t decode;   /* number of the image that runs them */
  int32_t reserved;
} DecantBatchRule;

/* A program of several decode images of one spec, cut differently, over the
   same slots: each call runs the image of the first rule that its number of
   rows fits. Bounds go up, and the last rule is for any number of rows. All
   images are loaded here; `transfer` may be null. Images whose slots, code
   order or arguments differ are refused. */
DECANT_API DecantStatus decantProgramCreateBatched(
    const DecantDevice *device, const DecantImage *const *decode,
    size_t decode_count, const DecantBatchRule *rules, size_t rule_count,
    const DecantImage *transfer, DecantProgram **program);
/* Only after the work and the captured graphs that use it are done. */
DECANT_API void decantProgramDestroy(DecantProgram *program);
DECANT_API DecantStatus decantProgramQuery(const DecantProgram *program,
                                           DecantProgramInfo *info);
/* Argument number `index` of the step, 0 .. step_argument_count - 1. */
DECANT_API DecantStatus decantProgramGetArgument(const DecantProgram *program,
                                                 int32_t index,
                                                 DecantArgumentInfo *info);

/* ---- Calls -------------------------------------------------------------- */

/* Slots of one layer. This struct never changes. */
typedef struct DecantSlotPool {
  void *state;               /* slot 0; slot_align aligned */
  int64_t slot_stride_bytes; /* >= slot_bytes, a multiple of slot_align */
  int64_t slot_count;        /* 0: not known, its end is not checked */
} DecantSlotPool;

/* The slot of each row of a batch. This struct never changes. */
typedef struct DecantSlotRows {
  const int32_t *slots; /* device, [rows] */
  int64_t slots_stride;
  int64_t rows;
} DecantSlotRows;

/* One row per row of the batch. This struct never changes. */
typedef struct DecantRowTensor {
  const void *data;
  int64_t stride; /* between rows */
} DecantRowTensor;

/* An input of a rule's own, by its name there. Never changes. */
typedef struct DecantNamedTensor {
  const char *name;
  DecantRowTensor tensor;
} DecantNamedTensor;

/* One token for each row. HK and HV are key and value heads, K and V dims:
     qkv  [rows, HK K | HK K | HV V]   or q, k [rows, HK K] and v [rows, HV V]
     decay, beta   as the rule has them; a decay is [rows, HV] or [rows, HV, K]
     A_log [HV], dt_bias [HV] or [HV, K]   with the decay forms that use them
     extra  a rule's own inputs by name; a further key k1 is [rows, HK K], one
            that the rule marks {layer} is [HV], [HV, K] or [HV, V] in f32 for
            all rows, and so is decay where the rule says so
     out  [rows, HV V]
   Give exactly what decantProgramGetArgument lists and leave the rest null.

   A program with tokens_per_step T beyond 1 takes 0 to T tokens of each row,
   packed: those of row i are rows cu_seqlens[i] .. cu_seqlens[i + 1] - 1 of the
   inputs and of out, whose first dim is then the number of tokens, not of rows.
   Beyond T tokens of a row nothing is read or written. Counts are read on the
   device, so a captured step may be replayed with others. */
typedef struct DecantStepCall {
  size_t struct_size;
  DecantSlotPool pool;
  DecantSlotRows rows;
  DecantRowTensor qkv, q, k, v, decay, beta;
  const void *A_log;
  const void *dt_bias;
  void *out;
  int64_t out_stride;
  const DecantNamedTensor *extra; /* host, [extra_count] */
  int32_t extra_count;
  int32_t reserved;
  void *stream;
  const int32_t *cu_seqlens; /* device, [rows + 1]; of tokens_per_step > 1 */
} DecantStepCall;

/* How many of the tokens of the last step each row keeps. */
typedef struct DecantCommitCall {
  size_t struct_size;
  DecantSlotPool pool;
  DecantSlotRows rows;
  const int32_t *accepted; /* device, [rows] */
  void *stream;
} DecantCommitCall;

typedef struct DecantFlushCall {
  size_t struct_size;
  DecantSlotPool pool;
  DecantSlotRows rows;
  void *stream;
} DecantFlushCall;

/* Dense states, [rows, HV, K, V], or [rows, HV, V, K] with value_major. */
typedef struct DecantDenseCall {
  size_t struct_size;
  DecantSlotPool pool;
  DecantSlotRows rows;
  void *dense;  /* read by pack, written by unpack */
  int32_t type; /* DECANT_F32 or DECANT_BF16 */
  int32_t value_major;
  int64_t row_stride, head_stride;
  void *stream;
} DecantDenseCall;

typedef struct DecantZeroCall {
  size_t struct_size;
  DecantSlotPool pool;
  const int32_t *slots; /* host, [count], read before the call returns */
  int64_t count;        /* 1 or more */
  void *stream;
  /* host, [count]: the sequences' seeds of stochastic rounding, which copies
     keep and which let equal sequences round alike, whatever their slots; or
     null, all 0 */
  const uint32_t *seeds;
} DecantZeroCall;

/* Copies slot sources[i] of `from` over slot targets[i] of `to`, in order. */
typedef struct DecantCopyCall {
  size_t struct_size;
  DecantSlotPool from, to;
  const int32_t *sources; /* host, [count] */
  const int32_t *targets; /* host, [count], each slot once */
  int64_t count;
  void *stream;
} DecantCopyCall;

/* Why Step would refuse this call: host only, launches nothing. */
DECANT_API DecantStatus decantProgramSupported(const DecantProgram *program,
                                               const DecantStepCall *call);
/* Decodes one token per row; folds the windows that are full.
   With tokens_per_step beyond 1: decodes the tokens of each row one after the
   other, behind those that were committed; folds a window before them when they
   would not fit into it. They are drafts until a commit: a step that none
   follows is as if it had not been, but for such a fold. */
DECANT_API DecantStatus decantProgramStep(const DecantProgram *program,
                                          const DecantStepCall *call);
/* For tokens_per_step beyond 1, after each step: the first accepted[i] tokens
   of row i become part of its sequence, the others are forgotten (negative is
   0, and more than there were is all). A row without tokens takes any count. */
DECANT_API DecantStatus decantProgramCommit(const DecantProgram *program,
                                            const DecantCommitCall *call);
/* Folds the windows of these rows, however full they are; drafts are gone. */
DECANT_API DecantStatus decantProgramFlush(const DecantProgram *program,
                                           const DecantFlushCall *call);
/* Dense states into slots; what the slots held is gone. */
DECANT_API DecantStatus decantProgramPack(const DecantProgram *program,
                                          const DecantDenseCall *call);
/* Slots, with their windows folded in, into dense states. */
DECANT_API DecantStatus decantProgramUnpack(const DecantProgram *program,
                                            const DecantDenseCall *call);
/* Makes slots those of empty sequences. */
DECANT_API DecantStatus decantProgramZero(const DecantProgram *program,
                                          const DecantZeroCall *call);
DECANT_API DecantStatus decantProgramCopy(const DecantProgram *program,
                                          const DecantCopyCall *call);
/* For debugging: `slots` is a host copy of a batch's slot numbers. Refuses a
   slot that two rows share, and one outside 0 .. slot_count - 1 that the pad
   policy does not make a padding row. */
DECANT_API DecantStatus decantProgramCheckSlots(const DecantProgram *program,
                                                const int32_t *slots,
                                                int64_t rows,
                                                int64_t slots_stride,
                                                int64_t slot_count);
/* For debugging: host copies of a step's cu_seqlens and, or null, its commit's
   accepted counts. Refuses offsets that go down, more than tokens_per_step
   tokens of a row, and accepted counts that are negative or beyond those. */
DECANT_API DecantStatus decantProgramCheckTokens(const DecantProgram *program,
                                                 const int32_t *cu_seqlens,
                                                 const int32_t *accepted,
                                                 int64_t rows);

#ifdef __cplusplus
}
#endif

#endif /* DECANT_C_DECANT_RUNTIME_H */
