//===- RotatedBatch.cpp - a batch in several sets of slots ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RotatedBatch.h"

#include "decant/Runtime/Cuda.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::bench;

/// For captured graphs and whatever else the driver keeps.
static constexpr int64_t kReserveBytes = int64_t(256) << 20;

Expected<BatchPlan> decant::bench::planBatch(const std::string &name,
                                             const Device &device,
                                             const Program &program,
                                             int64_t batch, SetCount count) {
  const int64_t slotBytes = program.info().slotBytes;
  const bool host = device.info().kind == TargetKind::Cpu;
  CudaMemory memory;
  memory.freeBytes = device.info().memoryBytes;
  if (!host) {
    DECANT_ASSIGN(memory, cudaMemory(device));
  }
  // Sets differ by what rounding and the pool's spare slot add.
  const int64_t setNeeds = LayerRun::bytesNeeded(program, batch);
  const int64_t fitting = (memory.freeBytes - kReserveBytes) / setNeeds;
  BatchPlan plan;
  plan.batch = batch;
  plan.sets = host ? 1
              : count == SetCount::Usual
                  ? chooseSets(batch * slotBytes, memory.l2Bytes, fitting)
                  : fewestSets(batch * slotBytes, memory.l2Bytes);
  plan.rotatedBytes = plan.sets * batch * slotBytes;
  plan.beyondCache =
      !host && plan.rotatedBytes >= kCachesBetween * memory.l2Bytes;
  const int64_t needed =
      LayerRun::bytesNeeded(program, batch * plan.sets) + kReserveBytes;
  if (needed > memory.freeBytes)
    return Status::failed(fmt::format(
        "--batch {}: {} needs {} bytes of device memory for {} sets of {} "
        "slots, and {} are free on {}",
        batch, name, needed, plan.sets, batch, memory.freeBytes,
        device.info().name));
  plan.slots = SlotPlan::dense(batch * plan.sets, slotBytes);
  return plan;
}

Status RotatedBatch::stepAll(int64_t turn, StreamHandle stream) const {
  for (int64_t set = 0; set < sets; ++set)
    DECANT_TRY(
        layer->step({set * batch, (set + turn) % sets * batch, batch}, stream));
  return {};
}

Status decant::bench::stagger(LayerRun &layer, int window) {
  const std::vector<int32_t> all = layer.slotPlan().slots;
  const std::vector<int> phases = randomPhases(layer.rows(), window);
  for (int round = 0; round + 1 < window; ++round) {
    std::vector<int32_t> behind;
    for (int64_t row : rowsBehind(phases, round))
      behind.push_back(all[row]);
    if (behind.empty())
      break;
    DECANT_TRY(layer.setSlots(behind));
    DECANT_TRY(layer.step({0, 0, int64_t(behind.size())}, nullptr));
  }
  return layer.setSlots(all);
}
