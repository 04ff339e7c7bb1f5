//===- Nvrtc.h - CUDA C++ to code for a device ---------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's runtime compiler, opened when it is asked for. Nothing that Decant
// makes needs it: it compiles the text that kernels are checked against
// (`--emit cuda`). Like a CudaDriver it is an object that is passed around.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_NVRTC_H
#define DECANT_RUNTIME_NVRTC_H

#include "decant/Core/KernelImage.h"

#include <memory>

namespace decant {

class Nvrtc {
public:
  /// Opens the library at `path`; without one, the newest of CUDA 12 and 13
  /// that the loader finds or that lies in the toolkit's usual folder.
  /// Unavailable, with the names that were tried, when there is none.
  static Expected<std::shared_ptr<const Nvrtc>>
  load(const std::string &path = "");

  const std::string &path() const { return libraryPath; }
  /// 13000 for CUDA 13.0.
  int version() const { return cudaVersion; }

  struct Code {
    CodeKind kind = CodeKind::Cubin;
    std::string target; // "sm_90"
    std::string bytes;
  };
  /// Compiles one text for a device of compute capability major.minor, or, for
  /// a device that this NVRTC does not know, to PTX of the newest one before
  /// it. Numbers are rounded after every operation, and no function is an
  /// approximation. `definitions` are NAME=VALUE. An error holds the compiler's
  /// messages.
  Expected<Code> compile(const std::string &text, const std::string &name,
                         int major, int minor,
                         const std::vector<std::string> &definitions) const;

private:
  Nvrtc() = default;
  struct Functions;
  std::shared_ptr<const Functions> functions;
  std::vector<int> architectures; // 90 for sm_90, ascending
  std::string libraryPath;
  int cudaVersion = 0;
};

} // namespace decant

#endif // DECANT_RUNTIME_NVRTC_H
