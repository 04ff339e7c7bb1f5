//===- ZeroLayer.cpp - inputs for any program -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ZeroLayer.h"

#include <algorithm>
#include <numeric>

using namespace decant;
using namespace decant::bench;

Expected<void *> ZeroLayer::zeros(std::shared_ptr<Device> device,
                                  int64_t bytes) {
  DECANT_ASSIGN(DeviceBuffer buffer, DeviceBuffer::create(device, bytes));
  DECANT_TRY(device->fill(buffer.data(), 0, bytes, nullptr));
  buffers.push_back(std::move(buffer));
  return buffers.back().data();
}

Status ZeroLayer::addInputs(std::shared_ptr<Device> device,
                            const Program &program, int64_t maxRows) {
  const ProgramInfo &info = program.info();
  struct Known {
    const char *name;
    RowTensor StepCall::*rows;
  };
  const Known known[] = {
      {"qkv", &StepCall::qkv},     {"q", &StepCall::q},
      {"k", &StepCall::k},         {"v", &StepCall::v},
      {"decay", &StepCall::decay}, {"beta", &StepCall::beta}};
  for (const KernelArg &arg : program.stepArguments()) {
    if (arg.kind != ArgKind::Pointer || arg.name == "state" ||
        arg.name == "slots" || arg.name == "cu_seqlens")
      continue;
    // What belongs to the layer has a value per head and at most per dim.
    const int64_t layer =
        int64_t(info.heads) * std::max(info.keyDim, info.valueDim);
    const int64_t elements = arg.rowWidth ? maxRows * arg.rowWidth : layer;
    DECANT_ASSIGN(void *memory,
                  zeros(device, elements * elementBytes(arg.type)));
    const auto place =
        std::find_if(std::begin(known), std::end(known),
                     [&](const Known &one) { return arg.name == one.name; });
    if (place != std::end(known))
      (call.*place->rows).data = memory;
    else if (arg.name == "out")
      call.out = memory;
    else if (arg.name == "A_log")
      call.aLog = memory;
    else if (arg.name == "dt_bias")
      call.dtBias = memory;
    else {
      names.push_back(arg.name);
      extra.push_back({nullptr, {memory, 0}});
    }
  }
  return {};
}

Expected<ZeroLayer> ZeroLayer::create(std::shared_ptr<Device> device,
                                      const Program &program, int64_t maxRows) {
  const ProgramInfo &info = program.info();
  ZeroLayer layer;
  // Slot 0 is padding for some; a pool's base is aligned by its allocation.
  const int64_t slots = maxRows + 1;
  DECANT_ASSIGN(layer.call.pool.base,
                layer.zeros(device, slots * info.slotBytes));
  layer.call.pool.count = slots;
  std::vector<int32_t> numbers(size_t(maxRows) + 1), ones(size_t(maxRows), 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  const int64_t bytes = int64_t(numbers.size() * sizeof(int32_t));
  DECANT_ASSIGN(void *counting, layer.zeros(device, bytes));
  DECANT_ASSIGN(void *accepted, layer.zeros(device, bytes));
  DECANT_TRY(device->copyToDevice(counting, numbers.data(), bytes, nullptr));
  DECANT_TRY(device->copyToDevice(
      accepted, ones.data(), int64_t(ones.size() * sizeof(int32_t)), nullptr));
  layer.call.rows.slots = static_cast<const int32_t *>(counting) + 1;
  layer.counts = static_cast<const int32_t *>(accepted);
  // Rows 0, 1, 2, ...: one token each.
  if (info.tokensPerStep > 1)
    layer.call.cuSeqlens = static_cast<const int32_t *>(counting);
  DECANT_TRY(layer.addInputs(device, program, maxRows));
  DECANT_TRY(device->synchronize(nullptr));
  return Expected<ZeroLayer>(std::move(layer));
}

Status ZeroLayer::step(const Program &program, int64_t rows,
                       StreamHandle stream) const {
  StepCall now = call;
  std::vector<NamedTensor> named = extra;
  for (size_t i = 0; i < named.size(); ++i)
    named[i].name = names[i].c_str();
  now.rows.rows = rows;
  now.extra = named.data();
  now.extraCount = int(named.size());
  now.stream = stream;
  DECANT_TRY(program.step(now));
  if (program.info().tokensPerStep == 1)
    return {};
  return program.commit({now.pool, now.rows, counts, stream});
}
