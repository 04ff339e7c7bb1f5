//===- SyntheticLayer.cpp - inputs and buffers of one layer ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SyntheticLayer.h"
#include "decant/Core/Numeric.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <random>

using namespace decant;

namespace {

constexpr uint8_t kPoison = 0xA5;
/// Bytes after a slot that are poisoned and checked.
constexpr int64_t kGuardBytes = 256;

} // namespace

TokenInputs decant::makeToken(const DecodeSpec &spec, bool vectorDecay,
                              int64_t rows, int token) {
  const HeadShape &heads = spec.heads;
  TokenInputs inputs;
  std::mt19937 random(1000003u * token + 17);
  std::normal_distribution<float> normal;
  auto fill = [&](std::vector<uint16_t> &target, int64_t elements) {
    target.resize(elements);
    for (uint16_t &element : target)
      element = doubleToBfloat(normal(random));
  };
  fill(inputs.q, rows * heads.key * heads.keyDim);
  fill(inputs.k, rows * heads.key * heads.keyDim);
  fill(inputs.v, rows * heads.value * heads.valueDim);
  // -g is log-uniform between 1e-4 and 4.6.
  std::uniform_real_distribution<float> logRate(std::log(1e-4f),
                                                std::log(4.6f));
  std::uniform_real_distribution<float> unit(0.05f, 0.95f);
  inputs.decay.resize(rows * heads.value * (vectorDecay ? heads.keyDim : 1));
  for (float &g : inputs.decay)
    g = -std::exp(logRate(random));
  inputs.beta.resize(rows * heads.value);
  for (float &beta : inputs.beta)
    beta = unit(random);
  return inputs;
}

SlotPlan SlotPlan::shuffled(int64_t rows, int64_t slotBytes, int64_t reach) {
  SlotPlan plan;
  plan.count = 2 * rows + 3;
  const int64_t needed = slotBytes + kGuardBytes;
  plan.stride = std::max(needed, reach / (plan.count - 1) + 1);
  plan.stride = (plan.stride + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
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

SlotPlan SlotPlan::inOrder(int64_t rows, int64_t slotBytes) {
  SlotPlan plan;
  plan.count = rows;
  plan.stride =
      (slotBytes + kGuardBytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
  plan.slots.resize(rows);
  std::iota(plan.slots.begin(), plan.slots.end(), 0);
  return plan;
}

Expected<LayerRun> LayerRun::create(const DecodeSpec &spec,
                                    std::shared_ptr<Device> device,
                                    const Program &program, SlotPlan plan) {
  LayerRun run;
  run.device = device;
  run.program = &program;
  run.plan = std::move(plan);
  const int64_t rows = run.plan.slots.size();
  const HeadShape &heads = spec.heads;
  auto allocate = [&](DeviceBuffer &buffer, int64_t bytes) -> Status {
    DECANT_ASSIGN(buffer, DeviceBuffer::create(device, bytes));
    return {};
  };
  run.outputs_ = rows * heads.value * heads.valueDim;
  DECANT_TRY(allocate(run.poolMemory, run.plan.count * run.plan.stride));
  DECANT_TRY(allocate(run.slotNumbers, rows * 4));
  DECANT_TRY(allocate(run.q, rows * heads.key * heads.keyDim * 2));
  DECANT_TRY(allocate(run.k, rows * heads.key * heads.keyDim * 2));
  DECANT_TRY(allocate(run.v, run.outputs_ * 2));
  DECANT_TRY(allocate(run.decay, rows * heads.value * heads.keyDim * 4));
  DECANT_TRY(allocate(run.beta, rows * heads.value * 4));
  DECANT_TRY(allocate(run.out, run.outputs_ * 2));
  const int64_t guarded = program.info().slotBytes + kGuardBytes;
  auto *base = static_cast<uint8_t *>(run.poolMemory.data());
  for (int64_t slot = 0; slot < run.plan.count; ++slot)
    DECANT_TRY(
        device->fill(base + slot * run.plan.stride, kPoison, guarded, nullptr));
  std::vector<int32_t> live;
  for (int32_t slot : run.plan.slots)
    if (slot >= 0)
      live.push_back(slot);
  ZeroCall zero;
  zero.pool = run.pool();
  zero.slots = live.data();
  zero.count = live.size();
  DECANT_TRY(program.zero(zero));
  DECANT_TRY(run.setSlots(run.plan.slots));
  // A padding row's output must be written, too.
  DECANT_TRY(device->fill(run.out.data(), kPoison, run.outputs_ * 2, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  return run;
}

Status LayerRun::setSlots(const std::vector<int32_t> &slots) {
  DECANT_TRY(device->copyToDevice(slotNumbers.data(), slots.data(),
                                  slots.size() * 4, nullptr));
  return device->synchronize(nullptr);
}

Status LayerRun::upload(const TokenInputs &inputs) {
  auto copy = [&](DeviceBuffer &to, const auto &from) {
    return device->copyToDevice(to.data(), from.data(),
                                from.size() * sizeof(from[0]), nullptr);
  };
  DECANT_TRY(copy(q, inputs.q));
  DECANT_TRY(copy(k, inputs.k));
  DECANT_TRY(copy(v, inputs.v));
  DECANT_TRY(copy(decay, inputs.decay));
  DECANT_TRY(copy(beta, inputs.beta));
  return device->synchronize(nullptr);
}

SlotPool LayerRun::pool() const {
  return {poolMemory.data(), plan.stride, plan.count};
}

StepCall LayerRun::call(StreamHandle stream) const {
  StepCall call;
  call.pool = pool();
  call.rows = {deviceSlots(), 1, int64_t(plan.slots.size())};
  call.q.data = q.data();
  call.k.data = k.data();
  call.v.data = v.data();
  call.decay.data = decay.data();
  call.beta.data = beta.data();
  call.out = out.data();
  call.stream = stream;
  return call;
}

Status LayerRun::step(StreamHandle stream) {
  return program->step(call(stream));
}

Expected<std::vector<float>> LayerRun::outputs() const {
  std::vector<uint16_t> raw(outputs_);
  DECANT_TRY(device->copyToHost(raw.data(), out.data(), outputs_ * 2, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  std::vector<float> values(raw.size());
  std::transform(raw.begin(), raw.end(), values.begin(), bfloatToDouble);
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
