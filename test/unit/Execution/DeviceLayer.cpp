//===- DeviceLayer.cpp - one sequence of a layer on any device ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceLayer.h"

#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

using namespace decant;
using namespace decant::test;

namespace {
constexpr int32_t kSlot = 1; // slot 0 may be padding
} // namespace

DeviceLayer::DeviceLayer(const DecodeSpec &spec, std::shared_ptr<Device> where,
                         Engine &engine)
    : device(std::move(where)), program(valueOf(engine.prepare(spec, device))) {
  pool = valueOf(
      DeviceBuffer::create(device, (kSlot + 1) * program->info().slotBytes));
  slot = upload(&kSlot, sizeof(kSlot));
  ZeroCall zero;
  zero.pool = {pool.data(), 0, kSlot + 1};
  zero.slots = &kSlot;
  zero.count = 1;
  require(program->zero(zero));
  require(device->synchronize(nullptr));
}

DeviceBuffer DeviceLayer::upload(const void *bytes, int64_t count) {
  DeviceBuffer buffer = valueOf(DeviceBuffer::create(device, count));
  require(device->copyToDevice(buffer.data(), bytes, count, nullptr));
  require(device->synchronize(nullptr));
  return buffer;
}

std::vector<double> DeviceLayer::step(const Token &token) {
  StepCall call;
  call.pool = {pool.data(), 0, kSlot + 1};
  call.rows = {static_cast<const int32_t *>(slot.data()), 1, 1};
  const std::map<std::string, RowTensor StepCall::*> fields = {
      {"q", &StepCall::q},
      {"k", &StepCall::k},
      {"v", &StepCall::v},
      {"decay", &StepCall::decay},
      {"beta", &StepCall::beta}};
  std::vector<DeviceBuffer> buffers; // alive until the step is done
  std::vector<NamedTensor> extra;
  DeviceBuffer out;
  ElementType outType = ElementType::F32;
  for (const KernelArg &arg : program->stepArguments()) {
    if (arg.kind != ArgKind::Pointer || arg.name == "state" ||
        arg.name == "slots")
      continue;
    const int64_t size = elementBytes(arg.type);
    if (arg.name == "out") {
      outType = arg.type;
      out = valueOf(DeviceBuffer::create(device, arg.rowWidth * size));
      call.out = out.data();
      continue;
    }
    const std::vector<double> &values = token.at(arg.name);
    std::vector<uint8_t> bytes(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i)
      storeElement(arg.type, values[i], &bytes[i * size]);
    buffers.push_back(upload(bytes.data(), int64_t(bytes.size())));
    const RowTensor tensor = {buffers.back().data(), 0};
    if (auto field = fields.find(arg.name); field != fields.end())
      call.*field->second = tensor;
    else if (arg.name == "A_log")
      call.aLog = tensor.data;
    else if (arg.name == "dt_bias")
      call.dtBias = tensor.data;
    else
      extra.push_back({arg.name.c_str(), tensor});
  }
  call.extra = extra.data();
  call.extraCount = int(extra.size());
  require(program->step(call));
  require(device->synchronize(nullptr));

  std::vector<uint8_t> bytes(out.bytes());
  require(device->copyToHost(bytes.data(), out.data(), out.bytes(), nullptr));
  require(device->synchronize(nullptr));
  std::vector<double> outputs;
  for (int64_t i = 0; i < out.bytes(); i += elementBytes(outType))
    outputs.push_back(loadElement(outType, &bytes[i]));
  return outputs;
}

std::vector<double> DeviceLayer::states() {
  std::vector<uint8_t> bytes(pool.bytes());
  require(device->copyToHost(bytes.data(), pool.data(), pool.bytes(), nullptr));
  require(device->synchronize(nullptr));
  std::vector<double> all;
  for (int head = 0; head < layout().valueHeads; ++head) {
    const std::vector<double> state =
        decodeHead(layout(), bytes.data() + kSlot * program->info().slotBytes +
                                 kSlotHeaderBytes + head * layout().headBytes);
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}
