//===- PrintReadKernel.cpp - the read kernel's PTX on stdout --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench/ReadCeiling.h"

#include <cstdio>

int main() {
  return std::puts(decant::bench::readKernelPtx().c_str()) < 0 ? 1 : 0;
}
