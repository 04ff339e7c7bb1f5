//===- FakeCuda.c - a driver without a GPU, for tests ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

enum {
  kOk = 0,
  kInvalidValue = 1,
  kInvalidContext = 201,
  kNoBinary = 209,
  kInvalidPtx = 218,
  kNotFound = 500,
  kCaptureImplicit = 906,
  kMaxDevices = 8,
  kMaxContexts = 16
};

typedef struct Function {
  char name[64];
  int args, regs, local, shared, threads;
} Function;
typedef struct Module {
  int count;
  Function functions[16];
} Module;
typedef struct Event {
  float milliseconds;
} Event;

static FakeCuda state;
static int contexts[kMaxDevices]; /* their addresses are the handles */
static _Thread_local void *stack[kMaxContexts];
static _Thread_local int depth;

FakeCuda *fakeCudaReset(void) {
  memset(&state, 0, sizeof(state));
  state.version = 13000;
  state.deviceCount = 1;
  state.computeMajor = 9;
  depth = 0;
  return &state;
}

/* For programs that only load this library. */
__attribute__((constructor)) static void startReset(void) { fakeCudaReset(); }

static int haveContext(void) { return depth > 0 && stack[depth - 1]; }
#define NEED_CONTEXT()                                                         \
  if (!haveContext())                                                          \
  return kInvalidContext

CUresult cuGetErrorName(CUresult error, const char **text) {
  switch (error) {
  case 1:
    *text = "CUDA_ERROR_INVALID_VALUE";
    return kOk;
  case 2:
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    return kOk;
  case 34:
    *text = "CUDA_ERROR_STUB_LIBRARY";
    return kOk;
  case 100:
    *text = "CUDA_ERROR_NO_DEVICE";
    return kOk;
  case kInvalidContext:
    *text = "CUDA_ERROR_INVALID_CONTEXT";
    return kOk;
  case kInvalidPtx:
    *text = "CUDA_ERROR_INVALID_PTX";
    return kOk;
  case kNotFound:
    *text = "CUDA_ERROR_NOT_FOUND";
    return kOk;
  default:
    *text = NULL;
    return kInvalidValue;
  }
}
CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == 2 ? "out of memory" : "some description";
  return kOk;
}
CUresult cuDriverGetVersion(int *version) {
  *version = state.version;
  return kOk;
}
CUresult cuInit(unsigned flags) {
  return flags ? kInvalidValue : state.initResult;
}

CUresult cuDeviceGetCount(int *count) {
  *count = state.deviceCount;
  return kOk;
}
CUresult cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < state.deviceCount ? kOk : kInvalidValue;
}
CUresult cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "Fake GPU %d", device);
  return kOk;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75   ? state.computeMajor
           : attribute == 76 ? state.computeMinor
           : attribute == 97 ? 232448
           : attribute == 38 ? 50 << 20
           : attribute == 16 ? 132
                             : -1;
  return kOk;
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  *bytes = (size_t)5 << 30;
  return kOk;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
  *context = &contexts[device];
  ++state.primaryRetains;
  return kOk;
}
CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  --state.primaryRetains;
  return kOk;
}
CUresult cuCtxGetCurrent(void **context) {
  *context = depth ? stack[depth - 1] : NULL;
  return kOk;
}
CUresult cuCtxPushCurrent_v2(void *context) {
  if (depth == kMaxContexts)
    return kInvalidValue;
  stack[depth++] = context;
  return kOk;
}
CUresult cuCtxPopCurrent_v2(void **context) {
  NEED_CONTEXT();
  *context = stack[--depth];
  return kOk;
}

/* "cubin MAJOR.MINOR\n", 0 where it is not there. */
static int cubinTarget(const char *image, int *major, int *minor) {
  return sscanf(image, "cubin %d.%d", major, minor) == 2;
}

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                            int *options, void **values) {
  NEED_CONTEXT();
  char *log = NULL;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5)
      log = values[i];
    if (options[i] == 6)
      size = (size_t)values[i];
  }
  int major, minor;
  if (!cubinTarget(image, &major, &minor))
    ++state.jits;
  else if (major != state.computeMajor || minor != state.computeMinor)
    return kNoBinary;
  const int linked = cubinTarget(image, &major, &minor);
  Module *loaded = calloc(1, sizeof(Module));
  for (const char *line = image; *line;) {
    Function *f = &loaded->functions[loaded->count];
    if (sscanf(line, "fn %63s args=%d regs=%d local=%d shared=%d threads=%d",
               f->name, &f->args, &f->regs, &f->local, &f->shared,
               &f->threads) == 6) {
      if (linked)
        f->local += state.linkedLocal;
      ++loaded->count;
    } else if (strncmp(line, "bad", 3) == 0) {
      if (log)
        snprintf(log, size, "fake jit, line 7: unexpected 'bad'\n");
      free(loaded);
      return kInvalidPtx;
    }
    const char *next = strchr(line, '\n');
    line = next ? next + 1 : line + strlen(line);
  }
  *module = loaded;
  ++state.modules;
  return kOk;
}
typedef struct Link {
  char *log;
  size_t logSize, size;
  char *cubin;
} Link;
CUresult cuLinkCreate_v2(unsigned count, int *options, void **values,
                         void **link) {
  NEED_CONTEXT();
  Link *made = calloc(1, sizeof(Link));
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == 5)
      made->log = values[i];
    if (options[i] == 6)
      made->logSize = (size_t)values[i];
  }
  ++state.links;
  *link = made;
  return kOk;
}
CUresult cuLinkAddData_v2(void *handle, int type, void *data, size_t size,
                          const char *name, unsigned count, int *options,
                          void **values) {
  NEED_CONTEXT();
  (void)options, (void)values;
  Link *link = handle;
  /* The end must be there: PTX is text. */
  if (type != 1 || !name || count || !size || ((char *)data)[size - 1])
    return kInvalidValue;
  if (strncmp(data, "bad", 3) == 0) {
    if (link->log)
      snprintf(link->log, link->logSize,
               "fake linker, line 7: unexpected 'bad'\n");
    return kInvalidPtx;
  }
  link->cubin = malloc(size + 64);
  link->size =
      (size_t)sprintf(link->cubin, "cubin %d.%d\n%s", state.computeMajor,
                      state.computeMinor, (char *)data);
  ++state.jits;
  return kOk;
}
CUresult cuLinkComplete(void *handle, void **cubin, size_t *size) {
  NEED_CONTEXT();
  Link *link = handle;
  *cubin = link->cubin;
  *size = link->size;
  return state.linkResult;
}
CUresult cuLinkDestroy(void *handle) {
  NEED_CONTEXT();
  free(((Link *)handle)->cubin);
  free(handle);
  --state.links;
  return kOk;
}

CUresult cuModuleUnload(void *module) {
  NEED_CONTEXT();
  free(module);
  --state.modules;
  return kOk;
}
CUresult cuModuleGetFunction(void **function, void *handle, const char *name) {
  NEED_CONTEXT();
  Module *module = handle;
  for (int i = 0; i < module->count; ++i)
    if (strcmp(module->functions[i].name, name) == 0) {
      *function = &module->functions[i];
      return kOk;
    }
  return kNotFound;
}
CUresult cuFuncGetAttribute(int *value, int attribute, void *handle) {
  NEED_CONTEXT();
  Function *function = handle;
  *value = attribute == 0   ? function->threads
           : attribute == 1 ? function->shared
           : attribute == 3 ? function->local
           : attribute == 4 ? function->regs
                            : -1;
  return kOk;
}
CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
  NEED_CONTEXT();
  (void)function;
  if (attribute != 8)
    return kInvalidValue;
  state.dynamicShared = value;
  return kOk;
}
typedef struct LaunchAttribute {
  int id;
  char pad[4];
  int value[16];
} LaunchAttribute;
typedef struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
} LaunchConfig;

CUresult cuLaunchKernelEx(const LaunchConfig *config, void *handle,
                          void **params, void **extra) {
  NEED_CONTEXT();
  if (extra || state.launchResult)
    return extra ? kInvalidValue : state.launchResult;
  Function *function = handle;
  FakeLaunch *launch = &state.launches[state.launchCount++ % kFakeMaxLaunches];
  strcpy(launch->function, function->name);
  memcpy(launch->grid, config->grid, sizeof(config->grid));
  memcpy(launch->block, config->block, sizeof(config->block));
  launch->shared = config->shared;
  launch->stream = config->stream;
  launch->overlaps = 0;
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].id == 6) /* programmatic serialization */
      launch->overlaps = config->attributes[i].value[0];
  launch->context = stack[depth - 1];
  launch->argCount = function->args;
  for (int i = 0; i < function->args; ++i)
    memcpy(&launch->args[i], params[i], 8);
  return kOk;
}
#ifndef FAKE_CUDA_WITHOUT_LAUNCH
CUresult cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz,
                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **params, void **extra) {
  const LaunchConfig config = {{gx, gy, gz}, {bx, by, bz}, shared,
                               stream,       NULL,         0};
  return cuLaunchKernelEx(&config, handle, params, extra);
}
#endif

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t size) {
  NEED_CONTEXT();
  if (state.allocResult || size == 0)
    return size ? state.allocResult : kInvalidValue;
  *memory = (CUdeviceptr)(size_t)aligned_alloc(256, (size + 255) / 256 * 256);
  ++state.allocations;
  return kOk;
}
CUresult cuMemFree_v2(CUdeviceptr memory) {
  NEED_CONTEXT();
  free((void *)(size_t)memory);
  --state.allocations;
  return kOk;
}
CUresult cuMemGetInfo_v2(size_t *unused, size_t *total) {
  NEED_CONTEXT();
  *total = (size_t)5 << 30;
  *unused = *total - ((size_t)state.allocations << 20);
  return kOk;
}
CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char byte, size_t size,
                         void *stream) {
  NEED_CONTEXT();
  (void)stream;
  memset((void *)(size_t)target, byte, size);
  return kOk;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source,
                              size_t size, void *stream) {
  NEED_CONTEXT();
  (void)stream;
  memcpy((void *)(size_t)target, source, size);
  return kOk;
}
CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t size,
                              void *stream) {
  NEED_CONTEXT();
  (void)stream;
  memcpy(target, (void *)(size_t)source, size);
  return kOk;
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source,
                              size_t size, void *stream) {
  NEED_CONTEXT();
  (void)stream;
  memcpy((void *)(size_t)target, (void *)(size_t)source, size);
  return kOk;
}

CUresult cuStreamCreate(void **stream, unsigned flags) {
  NEED_CONTEXT();
  *stream = malloc(1);
  ++state.streams;
  return flags == 1 ? kOk : kInvalidValue;
}
CUresult cuStreamDestroy_v2(void *stream) {
  NEED_CONTEXT();
  free(stream);
  --state.streams;
  return kOk;
}
CUresult cuStreamSynchronize(void *stream) {
  NEED_CONTEXT();
  (void)stream;
  return kOk;
}

/* A graph is the launches between begin and end, run again. */
typedef struct Graph {
  int first, last;
} Graph;
static int captureBegin = -1;
static void *captured; /* the stream */
CUresult cuStreamIsCapturing(void *stream, int *status) {
  NEED_CONTEXT();
  *status = captureBegin >= 0 && stream == captured;
  return captureBegin >= 0 && !stream ? kCaptureImplicit : kOk;
}
CUresult cuStreamBeginCapture_v2(void *stream, int mode) {
  NEED_CONTEXT();
  captured = stream;
  captureBegin = state.launchCount;
  return mode == 1 ? kOk : kInvalidValue;
}
CUresult cuStreamEndCapture(void *stream, void **graph) {
  NEED_CONTEXT();
  (void)stream;
  if (captureBegin < 0)
    return kInvalidValue;
  Graph *made = malloc(sizeof(Graph));
  made->first = captureBegin;
  made->last = state.launchCount;
  captureBegin = -1;
  *graph = made;
  return kOk;
}
CUresult cuGraphInstantiateWithFlags(void **exec, void *graph,
                                     unsigned long long flags) {
  NEED_CONTEXT();
  Graph *made = malloc(sizeof(Graph));
  *made = *(Graph *)graph;
  *exec = made;
  return flags ? kInvalidValue : kOk;
}
CUresult cuGraphLaunch(void *exec, void *stream) {
  NEED_CONTEXT();
  (void)stream;
  Graph *graph = exec;
  for (int i = graph->first; i < graph->last; ++i)
    state.launches[state.launchCount++ % kFakeMaxLaunches] =
        state.launches[i % kFakeMaxLaunches];
  return kOk;
}
CUresult cuGraphDestroy(void *graph) {
  free(graph);
  return kOk;
}
CUresult cuGraphExecDestroy(void *exec) {
  free(exec);
  return kOk;
}

CUresult cuEventCreate(void **event, unsigned flags) {
  NEED_CONTEXT();
  *event = calloc(1, sizeof(Event));
  ++state.events;
  return flags ? kInvalidValue : kOk;
}
CUresult cuEventDestroy_v2(void *event) {
  NEED_CONTEXT();
  free(event);
  --state.events;
  return kOk;
}
CUresult cuEventRecord(void *event, void *stream) {
  NEED_CONTEXT();
  (void)stream;
  ((Event *)event)->milliseconds = 0.5f * (float)state.launchCount;
  return kOk;
}
CUresult cuEventSynchronize(void *event) {
  NEED_CONTEXT();
  return event ? kOk : kInvalidValue;
}
CUresult cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  NEED_CONTEXT();
  *milliseconds = ((Event *)end)->milliseconds - ((Event *)begin)->milliseconds;
  return kOk;
}
