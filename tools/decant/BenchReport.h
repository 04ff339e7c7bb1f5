//===- BenchReport.h - what decant bench found out ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_BENCHREPORT_H
#define DECANT_TOOLS_BENCHREPORT_H

#include "Bench/Agreement.h"
#include "Bench/ReadCeiling.h"
#include "Bench/StepBench.h"
#include "Command.h"
#include "decant/Runtime/Cuda.h"

#include <optional>

namespace decant::tool {

struct BatchFindings {
  int64_t batch = 0;
  bench::Agreement check;
  bench::BatchTimes times; // of batch 0 where the check failed
};

struct BenchFindings {
  DecodeSpec spec;
  std::string deviceName;
  DeviceInfo device;
  ProgramInfo program;
  KernelImage image; // without its code
  std::vector<KernelResources> resources;
  CudaMemory memory;                         // zeros on the host
  std::optional<bench::ReadCeiling> ceiling; // not on the host
  bench::Spread call;
  std::vector<BatchFindings> batches;
};

Json toJson(const BenchFindings &findings);
std::string toText(const BenchFindings &findings);

} // namespace decant::tool

#endif // DECANT_TOOLS_BENCHREPORT_H
