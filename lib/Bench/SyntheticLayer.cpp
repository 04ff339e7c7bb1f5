//===- SyntheticLayer.cpp - a layer's buffers on a device -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SyntheticLayer.h"

#include "decant/Core/Numeric.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <random>

using namespace decant;
using namespace decant::bench;

namespace {

constexpr uint8_t kPoison = 0xA5;
/// Bytes after a slot that are poisoned and checked.
constexpr int64_t kGuardBytes = 256;

int64_t alignedStride(int64_t bytes) {
  return (bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
}

int64_t denseStride(int64_t slotBytes) {
  return alignedStride(slotBytes + kGuardBytes);
}

} // namespace

SlotPlan SlotPlan::shuffled(int64_t rows, int64_t slotBytes, int64_t reach) {
  SlotPlan plan;
  plan.count = 2 * rows + 3;
  const int64_t needed = slotBytes + kGuardBytes;
  plan.stride = alignedStride(std::max(needed, reach / (plan.count - 1) + 1));
  std::vector<int32_t> order(plan.count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(7);
  std::shuffle(order.begin(), order.end(), random);
  auto last = std::find(order.begin(), order.end(), int32_t(plan.count - 1));
  std::iter_swap(order.begin(), last);
  plan.slots.assign(order.begin(), order.begin() + rows);
  for (int64_t row = 6; row < rows; row += 7)
    plan.slots[row] = -1;
  return plan;
}

SlotPlan SlotPlan::dense(int64_t rows, int64_t slotBytes) {
  SlotPlan plan;
  plan.count = rows + 1;
  plan.stride = denseStride(slotBytes);
  plan.slots.resize(rows);
  std::iota(plan.slots.begin(), plan.slots.end(), 1);
  std::mt19937 random(11);
  std::shuffle(plan.slots.begin(), plan.slots.end(), random);
  return plan;
}

int64_t LayerRun::bytesNeeded(const Program &program, int64_t rows) {
  int64_t perRow = int64_t(sizeof(int32_t));
  for (const KernelArg &arg : program.stepArguments())
    perRow += arg.rowWidth * elementBytes(arg.type);
  return (rows + 1) * denseStride(program.info().slotBytes) + rows * perRow;
}

Expected<LayerRun> LayerRun::create(const DecodeSpec &spec,
                                    std::shared_ptr<Device> device,
                                    const Program &program, SlotPlan plan) {
  LayerRun run;
  run.device = device;
  run.program = &program;
  run.plan = std::move(plan);
  run.outputType = spec.inputs.output;
  run.outputWidth = int64_t(spec.heads.value) * spec.heads.valueDim;
  const int64_t rows = run.rows();
  const int64_t outBytes =
      rows * run.outputWidth * elementBytes(run.outputType);
  DECANT_ASSIGN(run.poolMemory,
                DeviceBuffer::create(device, run.plan.count * run.plan.stride));
  DECANT_ASSIGN(run.slotNumbers, DeviceBuffer::create(device, rows * 4));
  DECANT_ASSIGN(run.out, DeviceBuffer::create(device, outBytes));
  const int64_t guarded = program.info().slotBytes + kGuardBytes;
  auto *base = static_cast<uint8_t *>(run.poolMemory.data());
  for (int64_t slot = 0; slot < run.plan.count; ++slot)
    DECANT_TRY(
        device->fill(base + slot * run.plan.stride, kPoison, guarded, nullptr));
  DECANT_TRY(run.zeroSlots());
  DECANT_TRY(run.setSlots(run.plan.slots));
  // A padding row's output must be written, too.
  DECANT_TRY(device->fill(run.out.data(), kPoison, outBytes, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  return run;
}

Status LayerRun::zeroSlots() {
  std::vector<int32_t> live;
  for (int32_t slot : plan.slots)
    if (slot >= 0)
      live.push_back(slot);
  ZeroCall zero;
  zero.pool = pool();
  zero.slots = live.data();
  zero.count = int64_t(live.size());
  DECANT_TRY(program->zero(zero));
  return device->synchronize(nullptr);
}

Status LayerRun::setSlots(const std::vector<int32_t> &slots) {
  DECANT_TRY(device->copyToDevice(slotNumbers.data(), slots.data(),
                                  int64_t(slots.size()) * 4, nullptr));
  return device->synchronize(nullptr);
}

Status LayerRun::upload(const TokenInputs &token) {
  inputs.resize(token.tensors.size());
  std::vector<uint8_t> tiled;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputTensor &tensor = token.tensors[i];
    const std::vector<uint8_t> *source = &tensor.bytes;
    if (tensor.perRow && token.rows != rows()) {
      tiled.clear();
      for (int64_t left = rows(); left > 0; left -= token.rows)
        tiled.insert(tiled.end(), tensor.bytes.begin(),
                     tensor.bytes.begin() +
                         std::min(left, token.rows) * tensor.rowBytes());
      source = &tiled;
    }
    Input &input = inputs[i];
    input.name = tensor.name;
    input.rowBytes = tensor.perRow ? tensor.rowBytes() : 0;
    const int64_t size = int64_t(source->size());
    if (input.memory.bytes() != size) {
      DECANT_ASSIGN(input.memory, DeviceBuffer::create(device, size));
    }
    DECANT_TRY(device->copyToDevice(input.memory.data(), source->data(), size,
                                    nullptr));
    // The next tensor reuses the host's memory.
    DECANT_TRY(device->synchronize(nullptr));
  }
  return {};
}

SlotPool LayerRun::pool() const {
  return {poolMemory.data(), plan.stride, plan.count};
}

LayerRun::BoundCall LayerRun::bind(const RowRange &range,
                                   StreamHandle stream) const {
  BoundCall bound;
  StepCall &call = bound.call;
  call.pool = pool();
  call.rows = {deviceSlots() + range.firstSlot, 1, range.rows};
  for (const Input &input : inputs) {
    const RowTensor row{static_cast<const uint8_t *>(input.memory.data()) +
                        range.firstInput * input.rowBytes};
    if (input.name == "qkv")
      call.qkv = row;
    else if (input.name == "q")
      call.q = row;
    else if (input.name == "k")
      call.k = row;
    else if (input.name == "v")
      call.v = row;
    else if (input.name == "decay")
      call.decay = row;
    else if (input.name == "beta")
      call.beta = row;
    else if (input.name == "A_log")
      call.aLog = row.data;
    else if (input.name == "dt_bias")
      call.dtBias = row.data;
    else
      bound.extra.push_back({input.name.c_str(), row});
  }
  call.extra = bound.extra.data();
  call.extraCount = int(bound.extra.size());
  call.out = static_cast<uint8_t *>(out.data()) +
             range.firstInput * outputWidth * elementBytes(outputType);
  call.stream = stream;
  return bound;
}

Status LayerRun::step(StreamHandle stream) const {
  return step({0, 0, rows()}, stream);
}

Status LayerRun::step(const RowRange &range, StreamHandle stream) const {
  return program->step(bind(range, stream).call);
}

Expected<std::vector<float>> LayerRun::outputs() const {
  const int size = elementBytes(outputType);
  std::vector<uint8_t> raw(rows() * outputWidth * size);
  DECANT_TRY(
      device->copyToHost(raw.data(), out.data(), int64_t(raw.size()), nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  std::vector<float> values(raw.size() / size);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(loadElement(outputType, &raw[i * size]));
  return values;
}

Expected<std::vector<uint8_t>> LayerRun::bytes(int64_t offset,
                                               int64_t count) const {
  std::vector<uint8_t> host(count);
  const auto *base = static_cast<const uint8_t *>(poolMemory.data());
  DECANT_TRY(device->copyToHost(host.data(), base + offset, count, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  return host;
}

Expected<std::vector<uint8_t>> LayerRun::slot(int32_t number) const {
  return bytes(number * plan.stride, program->info().slotBytes);
}

Status LayerRun::checkPoison() const {
  std::vector<bool> live(plan.count, false);
  for (int32_t slot : plan.slots)
    if (slot >= 0)
      live[slot] = true;
  const int64_t slotBytes = program->info().slotBytes;
  for (int64_t slot = 0; slot < plan.count; ++slot) {
    const int64_t skip = live[slot] ? slotBytes : 0;
    DECANT_ASSIGN(
        std::vector<uint8_t> host,
        bytes(slot * plan.stride + skip, slotBytes + kGuardBytes - skip));
    for (size_t i = 0; i < host.size(); ++i)
      if (host[i] != kPoison)
        return Status::failed(
            fmt::format("byte {} of slot {} ({}) was written", skip + i, slot,
                        live[slot] ? "in use" : "not in use"));
  }
  return {};
}
