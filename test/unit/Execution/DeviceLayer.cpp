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

SlotPool DeviceLayer::slotPool() { return {pool.data(), 0, kSlot + 1}; }

SlotRows DeviceLayer::slotRows() {
  return {static_cast<const int32_t *>(slot.data()), 1, 1};
}

void DeviceLayer::commit(int32_t accepted) {
  const DeviceBuffer counts = upload(&accepted, sizeof(accepted));
  CommitCall call;
  call.pool = slotPool();
  call.rows = slotRows();
  call.accepted = static_cast<const int32_t *>(counts.data());
  require(program->commit(call));
  require(device->synchronize(nullptr));
}

void DeviceLayer::flush() {
  require(program->flush({slotPool(), slotRows(), nullptr}));
  require(device->synchronize(nullptr));
}

std::vector<double> DeviceLayer::draft(const std::vector<Token> &tokens) {
  StepCall call;
  call.pool = slotPool();
  call.rows = slotRows();
  const int32_t offsets[] = {0, int32_t(tokens.size())};
  const DeviceBuffer cuSeqlens = upload(offsets, sizeof(offsets));
  if (program->info().tokensPerStep > 1)
    call.cuSeqlens = static_cast<const int32_t *>(cuSeqlens.data());
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
        arg.name == "slots" || arg.name == "cu_seqlens")
      continue;
    const int64_t size = elementBytes(arg.type);
    if (arg.name == "out") {
      outType = arg.type;
      out = valueOf(DeviceBuffer::create(device, int64_t(tokens.size()) *
                                                     arg.rowWidth * size));
      call.out = out.data();
      continue;
    }
    std::vector<uint8_t> bytes;
    for (const Token &token : tokens) {
      uint8_t element[4];
      for (double value : token.at(arg.name)) {
        storeElement(arg.type, value, element);
        bytes.insert(bytes.end(), element, element + size);
      }
      if (arg.rowWidth == 0) // of the layer, not of a token
        break;
    }
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
        decodeHead(layout().ofHead(head),
                   bytes.data() + kSlot * program->info().slotBytes +
                       layout().headOffset(head));
    all.insert(all.end(), state.begin(), state.end());
  }
  return all;
}
