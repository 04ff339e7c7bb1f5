//===- FakeCuda.h - a driver without a GPU, for tests --------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FakeCuda.c is built as a shared library that stands in for libcuda.so.1:
// memory is host memory, streams run at once, launches are recorded. Contexts
// are kept per thread as the driver keeps them, and calls that need one fail
// without it. "PTX" is a list of lines
//   fn NAME args=N regs=N local=N shared=N threads=N
// and a line "bad" makes loading fail as a JIT does, with a log. A "cubin" is a
// first line "cubin MAJOR.MINOR" and then the same.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_RUNTIME_FAKECUDA_H
#define DECANT_TEST_UNIT_RUNTIME_FAKECUDA_H

#ifdef __cplusplus
extern "C" {
#endif

enum { kFakeMaxArgs = 64, kFakeMaxLaunches = 64 };

typedef struct FakeLaunch {
  char function[64];
  unsigned grid[3], block[3], shared;
  void *stream;
  int overlaps; /* the kernel ahead, which it waits for itself */
  void *context;
  int argCount;
  unsigned long long args[kFakeMaxArgs];
} FakeLaunch;

/* What the fake does, and what was done with it. */
typedef struct FakeCuda {
  int version;    /* of cuDriverGetVersion */
  int initResult; /* of cuInit */
  int deviceCount;
  int computeMajor, computeMinor;
  int allocResult;  /* of cuMemAlloc */
  int launchResult; /* of cuLaunchKernel */
  int linkResult;   /* of cuLinkComplete */
  int linkedLocal;  /* local bytes of every function that was linked */

  int jits;                                  /* PTX that was loaded or linked */
  int links;                                 /* alive */
  int modules, allocations, streams, events; /* alive */
  int primaryRetains;                        /* over all devices */
  int dynamicShared; /* the last value given to cuFuncSetAttribute */
  int launchCount;
  FakeLaunch launches[kFakeMaxLaunches];
} FakeCuda;

typedef FakeCuda *(*FakeCudaReset)(void);
/* Back to one sm_90 device under CUDA 13.0; returns the struct to change. */
FakeCuda *fakeCudaReset(void);

#ifdef __cplusplus
}
#endif

#endif /* DECANT_TEST_UNIT_RUNTIME_FAKECUDA_H */
