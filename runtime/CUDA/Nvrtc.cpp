//===- Nvrtc.cpp - CUDA C++ to code for a device --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares as much of NVRTC as is called, so that its header is not needed to
// build. The signatures are those of nvrtc.h since CUDA 11.2.
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Nvrtc.h"

#include "decant/Runtime/Cuda.h"

#include <algorithm>
#include <dlfcn.h>
#include <fmt/format.h>

using namespace decant;

namespace {

using Result = int;
using Handle = struct OpaqueProgram *;
constexpr Result kSuccess = 0;

/// By the loader's own search, then where CUDA's installers put them.
const char *const kLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                  "/usr/local/cuda/lib64/libnvrtc.so.13",
                                  "/usr/local/cuda/lib64/libnvrtc.so.12",
                                  "/usr/local/cuda/lib64/libnvrtc.so"};

/// A program that is destroyed with its scope.
struct Program {
  Handle handle = nullptr;
  Result (*destroy)(Handle *) = nullptr;
  ~Program() {
    if (handle)
      destroy(&handle);
  }
};

} // namespace

struct Nvrtc::Functions {
  const char *(*getErrorString)(Result) = nullptr;
  Result (*version)(int *, int *) = nullptr;
  Result (*getNumSupportedArchs)(int *) = nullptr;
  Result (*getSupportedArchs)(int *) = nullptr;
  Result (*createProgram)(Handle *, const char *, const char *, int,
                          const char *const *, const char *const *) = nullptr;
  Result (*destroyProgram)(Handle *) = nullptr;
  Result (*compileProgram)(Handle, int, const char *const *) = nullptr;
  Result (*getProgramLogSize)(Handle, size_t *) = nullptr;
  Result (*getProgramLog)(Handle, char *) = nullptr;
  Result (*getCubinSize)(Handle, size_t *) = nullptr;
  Result (*getCubin)(Handle, char *) = nullptr;
  Result (*getPtxSize)(Handle, size_t *) = nullptr;
  Result (*getPtx)(Handle, char *) = nullptr;

  Status check(Result result, const char *call) const {
    if (result == kSuccess)
      return {};
    const char *text = getErrorString(result);
    return Status::failed(fmt::format("{} failed: {} ({})", call,
                                      text ? text : "no description", result));
  }

  /// What a pair of functions, one for the size, gives of a program.
  Expected<std::string> read(Handle program, Result (*size)(Handle, size_t *),
                             Result (*get)(Handle, char *),
                             const char *call) const {
    size_t bytes = 0;
    DECANT_TRY(check(size(program, &bytes), call));
    std::string text(bytes, '\0');
    DECANT_TRY(check(get(program, text.data()), call));
    return text;
  }
};

Expected<std::shared_ptr<const Nvrtc>> Nvrtc::load(const std::string &path) {
  std::vector<std::string> names = {path};
  if (path.empty())
    names.assign(std::begin(kLibraries), std::end(kLibraries));
  void *library = nullptr;
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
  std::string reason;
  for (const std::string &name : names) {
    // Never unloaded: it keeps threads and a library of its own.
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    nvrtc->libraryPath = name;
    if (library)
      break;
    const char *text = dlerror();
    // The first: later names are guesses of where else it might be.
    if (reason.empty())
      reason = text ? text : "the loader gives no reason";
  }
  if (!library)
    return Status::unavailable(fmt::format(
        "no NVRTC: {} cannot be opened ({}); install libnvrtc of a CUDA 12 or "
        "13 toolkit, or name its file",
        fmt::join(names, ", "), reason));

  auto functions = std::make_shared<Functions>();
  std::string missing;
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function && missing.empty())
      missing = symbol;
  };
  find(functions->getErrorString, "nvrtcGetErrorString");
  find(functions->version, "nvrtcVersion");
  find(functions->getNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  find(functions->getSupportedArchs, "nvrtcGetSupportedArchs");
  find(functions->createProgram, "nvrtcCreateProgram");
  find(functions->destroyProgram, "nvrtcDestroyProgram");
  find(functions->compileProgram, "nvrtcCompileProgram");
  find(functions->getProgramLogSize, "nvrtcGetProgramLogSize");
  find(functions->getProgramLog, "nvrtcGetProgramLog");
  find(functions->getCubinSize, "nvrtcGetCUBINSize");
  find(functions->getCubin, "nvrtcGetCUBIN");
  find(functions->getPtxSize, "nvrtcGetPTXSize");
  find(functions->getPtx, "nvrtcGetPTX");
  if (!missing.empty())
    return Status::unavailable(
        fmt::format("NVRTC {} has no function {}; Decant needs that of CUDA 12 "
                    "or 13",
                    nvrtc->libraryPath, missing));

  int major = 0, minor = 0, count = 0;
  DECANT_TRY(
      functions->check(functions->version(&major, &minor), "nvrtcVersion"));
  nvrtc->cudaVersion = major * 1000 + minor * 10;
  DECANT_TRY(functions->check(functions->getNumSupportedArchs(&count),
                              "nvrtcGetNumSupportedArchs"));
  nvrtc->architectures.resize(count);
  DECANT_TRY(functions->check(
      functions->getSupportedArchs(nvrtc->architectures.data()),
      "nvrtcGetSupportedArchs"));
  std::sort(nvrtc->architectures.begin(), nvrtc->architectures.end());
  nvrtc->functions = std::move(functions);
  return std::shared_ptr<const Nvrtc>(std::move(nvrtc));
}

Expected<Nvrtc::Code>
Nvrtc::compile(const std::string &text, const std::string &name, int major,
               int minor, const std::vector<std::string> &definitions) const {
  const int wanted = major * 10 + minor;
  const auto above =
      std::upper_bound(architectures.begin(), architectures.end(), wanted);
  if (above == architectures.begin())
    return Status::unavailable(
        fmt::format("NVRTC {} of CUDA {} does not know compute capability "
                    "{}.{} or one before it",
                    libraryPath, cudaVersionText(cudaVersion), major, minor));
  const int chosen = *std::prev(above);
  Code code;
  code.kind = chosen == wanted ? CodeKind::Cubin : CodeKind::Ptx;
  code.target = fmt::format("sm_{}", chosen);

  std::vector<std::string> options = {
      fmt::format("--gpu-architecture={}_{}",
                  code.kind == CodeKind::Cubin ? "sm" : "compute", chosen),
      "--std=c++17",
      // The text says what is computed, and in which order.
      "--fmad=false"};
  for (const std::string &definition : definitions)
    options.push_back("--define-macro=" + definition);
  std::vector<const char *> pointers;
  for (const std::string &option : options)
    pointers.push_back(option.c_str());

  Program program;
  program.destroy = functions->destroyProgram;
  DECANT_TRY(functions->check(
      functions->createProgram(&program.handle, text.c_str(), name.c_str(), 0,
                               nullptr, nullptr),
      "nvrtcCreateProgram"));
  const Status compiled = functions->check(
      functions->compileProgram(program.handle, int(pointers.size()),
                                pointers.data()),
      "nvrtcCompileProgram");
  if (!compiled.ok()) {
    DECANT_ASSIGN(std::string log,
                  functions->read(program.handle, functions->getProgramLogSize,
                                  functions->getProgramLog,
                                  "nvrtcGetProgramLog"));
    log.resize(log.find_last_not_of(std::string("\n \0", 3)) + 1);
    return Status(compiled.code(), fmt::format("{}: {}; it says: {}", name,
                                               compiled.message(), log));
  }
  const bool cubin = code.kind == CodeKind::Cubin;
  DECANT_ASSIGN(
      code.bytes,
      functions->read(program.handle,
                      cubin ? functions->getCubinSize : functions->getPtxSize,
                      cubin ? functions->getCubin : functions->getPtx,
                      cubin ? "nvrtcGetCUBIN" : "nvrtcGetPTX"));
  return code;
}
