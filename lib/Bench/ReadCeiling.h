//===- ReadCeiling.h - how fast a device reads memory ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that does nothing but read: what no other kernel can exceed, and so
// what a step's bytes per second are compared with.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_READCEILING_H
#define DECANT_LIB_BENCH_READCEILING_H

#include "WorkingSet.h"
#include "decant/Runtime/Device.h"

#include <string>

namespace decant::bench {

struct ReadCeiling {
  int64_t bytes = 0;  // read by one launch
  int64_t blocks = 0; // of the fastest grid
  double terabytesPerSecond = 0;
};

/// Memory that the measurement takes for its length.
constexpr int64_t kReadBytes = int64_t(2) << 30;

/// The median of the fastest of several grids. `device` must be a GPU.
Expected<ReadCeiling> measureReadCeiling(std::shared_ptr<Device> device);

/// The kernel's PTX, for tests that assemble it.
std::string readKernelPtx();

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_READCEILING_H
