//===- FakeNvrtc.c - a compiler without a toolkit, for tests --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built as a shared library that stands in for libnvrtc.so.13. It knows sm_80,
// sm_90 and sm_100. A text with #error in it fails with a log; of any other one
// it makes what FakeCuda.c loads: the name of its kernel and the number of its
// arguments, each of which has a line.
//
//===----------------------------------------------------------------------===//

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kCompilation = 6 };

typedef struct Program {
  char *text;
  char code[512];
} Program;

static char options[1024];
/* Those of the last compile, with spaces between them. */
const char *fakeNvrtcOptions(void) { return options; }

static const char kLog[] = "layer.cu(1): error: not today\n";

const char *nvrtcGetErrorString(int result) {
  return result == kCompilation ? "NVRTC_ERROR_COMPILATION" : "an error";
}
int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return kSuccess;
}
int nvrtcGetNumSupportedArchs(int *count) {
  *count = 3;
  return kSuccess;
}
int nvrtcGetSupportedArchs(int *archs) {
  archs[0] = 100;
  archs[1] = 80;
  archs[2] = 90;
  return kSuccess;
}

int nvrtcCreateProgram(Program **program, const char *text, const char *name,
                       int headers, const char *const *sources,
                       const char *const *names) {
  (void)name, (void)headers, (void)sources, (void)names;
  *program = calloc(1, sizeof(Program));
  (*program)->text = strdup(text);
  return kSuccess;
}
int nvrtcDestroyProgram(Program **program) {
  free((*program)->text);
  free(*program);
  *program = NULL;
  return kSuccess;
}

int nvrtcCompileProgram(Program *program, int count, const char *const *given) {
  int arch = 0;
  options[0] = '\0';
  for (int i = 0; i < count; ++i) {
    strncat(options, given[i], sizeof(options) - strlen(options) - 2);
    strcat(options, " ");
    if (sscanf(given[i], "--gpu-architecture=sm_%d", &arch) != 1)
      sscanf(given[i], "--gpu-architecture=compute_%d", &arch);
  }
  if (strstr(program->text, "#error"))
    return kCompilation;
  char function[64] = "";
  const char *kernel = strstr(program->text, "__global__ void ");
  int lines = 0;
  if (kernel) {
    sscanf(kernel, "__global__ void %63[A-Za-z0-9_]", function);
    for (const char *at = kernel; *at && strncmp(at, ") {", 3) != 0; ++at)
      lines += *at == '\n';
  }
  const char *first = strstr(options, "=sm_") ? "cubin" : "// ptx";
  snprintf(program->code, sizeof(program->code),
           "%s %d.%d\nfn %s args=%d regs=32 local=0 shared=0 threads=1024\n",
           first, arch / 10, arch % 10, function, lines);
  return kSuccess;
}

int nvrtcGetProgramLogSize(Program *program, size_t *size) {
  (void)program;
  *size = sizeof(kLog);
  return kSuccess;
}
int nvrtcGetProgramLog(Program *program, char *log) {
  (void)program;
  memcpy(log, kLog, sizeof(kLog));
  return kSuccess;
}

static int codeSize(const Program *program, size_t *size) {
  *size = strlen(program->code) + 1;
  return kSuccess;
}
static int code(const Program *program, char *bytes) {
  strcpy(bytes, program->code);
  return kSuccess;
}
int nvrtcGetCUBINSize(Program *program, size_t *size) {
  return codeSize(program, size);
}
int nvrtcGetCUBIN(Program *program, char *bytes) {
  return code(program, bytes);
}
int nvrtcGetPTXSize(Program *program, size_t *size) {
  return codeSize(program, size);
}
int nvrtcGetPTX(Program *program, char *bytes) { return code(program, bytes); }
