//===- capi_beside_llvm.c - libdecant where LLVM lives already ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// capi_beside_llvm LIBDECANT LLVM...
//
// A host that loads libraries in the given order and finds functions by name,
// as engines load plugins. Each LLVM is opened for all to see (RTLD_GLOBAL),
// which is the case in which symbols could be taken from the wrong one, and is
// used before and after Decant compiles and runs.
//
//===----------------------------------------------------------------------===//

#include "decant-c/decant.h"

#include <dlfcn.h>

/* The functions of libdecant that this host uses, by pointers of their names:
   nothing of it is linked. */
#define FUNCTIONS(X)                                                           \
  X(decantLastError)                                                           \
  X(decantVersion)                                                             \
  X(decantTextDestroy)                                                         \
  X(decantSpecReadText)                                                        \
  X(decantSpecDestroy)                                                         \
  X(decantEmit)                                                                \
  X(decantEngineCreate)                                                        \
  X(decantEngineDestroy)                                                       \
  X(decantEngineOpenDevice)                                                    \
  X(decantEnginePrepare)                                                       \
  X(decantDeviceClose)                                                         \
  X(decantProgramDestroy)                                                      \
  X(decantProgramQuery)                                                        \
  X(decantProgramStep)
#define DECLARE(name) static __typeof__(&name) loaded_##name;
FUNCTIONS(DECLARE)

#define decantLastError loaded_decantLastError
#define decantVersion loaded_decantVersion
#define decantTextDestroy loaded_decantTextDestroy
#define decantSpecReadText loaded_decantSpecReadText
#define decantSpecDestroy loaded_decantSpecDestroy
#define decantEmit loaded_decantEmit
#define decantEngineCreate loaded_decantEngineCreate
#define decantEngineDestroy loaded_decantEngineDestroy
#define decantEngineOpenDevice loaded_decantEngineOpenDevice
#define decantEnginePrepare loaded_decantEnginePrepare
#define decantDeviceClose loaded_decantDeviceClose
#define decantProgramDestroy loaded_decantProgramDestroy
#define decantProgramQuery loaded_decantProgramQuery
#define decantProgramStep loaded_decantProgramStep

#include "SmallLayer.h"

static void *find(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found) {
    printf("%s\n", dlerror());
    exit(2);
  }
  return found;
}

static void *load(const char *path, int mode) {
  void *library = dlopen(path, mode);
  if (!library) {
    printf("%s\n", dlerror());
    exit(2);
  }
  return library;
}

/* Makes the other LLVM work: its registries, its allocator, its printer. */
static void useLLVM(void *library) {
  void *(*createContext)(void);
  void *(*createModule)(const char *, void *);
  char *(*print)(void *);
  void (*disposeMessage)(char *), (*disposeModule)(void *);
  void (*disposeContext)(void *), (*initialize)(void);
  void *context, *module;
  char *text;
  *(void **)&createContext = find(library, "LLVMContextCreate");
  *(void **)&createModule = find(library, "LLVMModuleCreateWithNameInContext");
  *(void **)&print = find(library, "LLVMPrintModuleToString");
  *(void **)&disposeMessage = find(library, "LLVMDisposeMessage");
  *(void **)&disposeModule = find(library, "LLVMDisposeModule");
  *(void **)&disposeContext = find(library, "LLVMContextDispose");
  *(void **)&initialize = find(library, "LLVMInitializeX86Target");
  initialize();
  context = createContext();
  module = createModule("neighbour", context);
  text = print(module);
  EXPECT(strstr(text, "neighbour") != NULL);
  disposeMessage(text);
  disposeModule(module);
  disposeContext(context);
}

static void useDecant(void) {
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantCompileOptions gpu = DECANT_INIT(DecantCompileOptions);
  DecantEngine *engine = NULL;
  DecantSpec *spec = NULL;
  DecantDevice *device = NULL;
  DecantProgram *program = NULL;
  char *text = NULL;
  options.cache_mode = DECANT_CACHE_OFF;
  OK(decantEngineCreate(&options, &engine));
  OK(decantSpecReadText(kSmallLayer, NULL, NULL, 0, &spec));
  gpu.target = "sm_90a";
  OK(decantEmit(spec, &gpu, "image", &text));
  EXPECT(text && strstr(text, ".target sm_90a") != NULL);
  decantTextDestroy(text);
  OK(decantEngineOpenDevice(engine, "cpu", &device));
  OK(decantEnginePrepare(engine, spec, device, NULL, &program));
  if (program)
    printf("%s: largest error %.2g\n", decantVersion(), checkLayer(program));
  decantProgramDestroy(program);
  decantDeviceClose(device);
  decantSpecDestroy(spec);
  decantEngineDestroy(engine);
}

int main(int argc, char **argv) {
  void *llvm[8];
  int i, count = 0, opened = 0;
  for (i = 1; i < argc && count < 8; ++i) {
    if (strstr(argv[i], "libdecant")) {
      void *library = load(argv[i], RTLD_NOW | RTLD_LOCAL);
#define FIND(name) *(void **)&loaded_##name = find(library, #name);
      FUNCTIONS(FIND)
      useDecant();
      ++opened;
    } else {
      llvm[count] = load(argv[i], RTLD_NOW | RTLD_GLOBAL);
      useLLVM(llvm[count++]);
    }
  }
  if (opened != 1 || count == 0)
    return 2;
  useDecant();
  for (i = 0; i < count; ++i)
    useLLVM(llvm[i]);
  useDecant();
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
