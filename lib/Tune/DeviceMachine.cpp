//===- DeviceMachine.cpp - how fast a device can be -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMachine.h"

#include "Bench/ReadCeiling.h"
#include "decant/Runtime/Cuda.h"

#include <cmath>

using namespace decant;
using namespace decant::tune;

Expected<Machine> decant::tune::machineOf(std::shared_ptr<Device> device,
                                          const TargetInfo &target,
                                          const std::string &name) {
  Machine machine = machineOf(target).value_or(Machine());
  machine.name = name;
  if (device->info().kind == TargetKind::Cpu) {
    // Work alone ranks.
    machine.multiprocessors = 1;
    machine.lanesPerSecond = 1e10;
    return machine;
  }
  DECANT_ASSIGN(const CudaMemory memory, cudaMemory(*device));
  machine.multiprocessors = memory.multiprocessors;
  if (memory.freeBytes > 2 * bench::kReadBytes) {
    DECANT_ASSIGN(const bench::ReadCeiling ceiling,
                  bench::measureReadCeiling(device));
    // To two digits, and up: the same ranks in every run, and nothing is held
    // for impossible that is not.
    machine.bytesPerSecond = std::ceil(ceiling.terabytesPerSecond * 10) * 1e11;
    machine.measured = true;
  }
  return machine;
}
