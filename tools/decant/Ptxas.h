//===- Ptxas.h - registers and spills, from an installed ptxas --*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_PTXAS_H
#define DECANT_TOOLS_PTXAS_H

#include "decant/Core/KernelImage.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace decant::tool {

/// What the assembler says of one kernel.
struct PtxasKernel {
  std::string symbol;
  int registers = 0, sharedBytes = 0;
  int spillStores = 0, spillLoads = 0, stackBytes = 0; // bytes
};

/// The path of the ptxas on PATH, empty without one.
std::string findPtxas();

/// Assembles `ptx` for `arch` and drops the result.
Expected<std::vector<PtxasKernel>> runPtxas(const std::string &program,
                                            const std::string &ptx,
                                            const std::string &arch);

/// Assembles `ptx` to machine code that devices of `arch` load.
Expected<std::string> assembleCubin(const std::string &program,
                                    const std::string &ptx,
                                    const std::string &arch);

/// `image`, which has PTX, with the machine code of its target in its place.
Expected<KernelImage> assembled(const std::string &program,
                                const KernelImage &image);

/// The same, each image once. May be used from several threads.
class Assembler {
public:
  explicit Assembler(std::string program) : program(std::move(program)) {}
  Expected<KernelImage> assemble(const KernelImage &image);

private:
  std::string program;
  std::mutex mutex;                        // of what is below
  std::map<std::string, KernelImage> done; // by their PTX
};

/// Reads what `ptxas -v` printed.
std::vector<PtxasKernel> parsePtxasReport(const std::string &text);

} // namespace decant::tool

#endif // DECANT_TOOLS_PTXAS_H
