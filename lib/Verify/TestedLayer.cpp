//===- TestedLayer.cpp - a program on scratch slots -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestedLayer.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <random>

using namespace decant;

namespace {

constexpr uint8_t kPoison = 0xA5;
/// Bytes behind a slot that nothing may write.
constexpr int64_t kGuardBytes = 256;

bool isInput(const KernelArg &arg) {
  return arg.kind == ArgKind::Pointer && !arg.writable && arg.name != "slots" &&
         arg.name != "cu_seqlens";
}

} // namespace

Expected<TestedLayer> TestedLayer::create(const DecodeSpec &spec,
                                          std::shared_ptr<Device> device,
                                          const Program &program,
                                          const SyntheticTokens &tokens,
                                          int64_t rows) {
  TestedLayer layer(spec, std::move(device), program, tokens);
  const int64_t bytes = program.info().slotBytes + kGuardBytes;
  layer.stride = (bytes + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
  // Slot 0, which some pad policies keep, and the last one are nobody's.
  layer.slotCount = rows + 2;
  layer.slots.resize(rows);
  std::iota(layer.slots.begin(), layer.slots.end(), 1);
  std::mt19937 random(11);
  std::shuffle(layer.slots.begin(), layer.slots.end(), random);

  DECANT_ASSIGN(
      layer.memory,
      DeviceBuffer::create(layer.device, layer.slotCount * layer.stride));
  DECANT_TRY(layer.device->fill(layer.memory.data(), kPoison,
                                layer.memory.bytes(), nullptr));
  ZeroCall zero;
  zero.pool = layer.pool();
  zero.slots = layer.slots.data();
  zero.count = rows;
  DECANT_TRY(program.zero(zero));
  DECANT_ASSIGN(
      layer.out,
      DeviceBuffer::create(layer.device, rows * program.info().tokensPerStep *
                                             layer.outputBytes()));
  DECANT_TRY(layer.device->synchronize(nullptr));
  return Expected<TestedLayer>(std::move(layer));
}

SlotPool TestedLayer::pool() const {
  return {memory.data(), stride, slotCount};
}

SlotRows TestedLayer::slotRows() const {
  return {static_cast<const int32_t *>(slotNumbers.data()), 1,
          int64_t(slots.size())};
}

int64_t TestedLayer::outputBytes() const {
  return int64_t(spec.heads.value) * spec.heads.valueDim *
         elementBytes(spec.inputs.output);
}

Status TestedLayer::upload(DeviceBuffer &buffer, const void *bytes,
                           int64_t count) {
  if (buffer.bytes() < count) {
    DECANT_ASSIGN(buffer, DeviceBuffer::create(device, count));
  }
  DECANT_TRY(device->copyToDevice(buffer.data(), bytes, count, nullptr));
  // `bytes` may be gone before the copy is done otherwise.
  return device->synchronize(nullptr);
}

Status TestedLayer::uploadInputs(const std::vector<RowTokens> &rows) {
  // Many rows decode the same tokens.
  std::map<std::pair<int, int64_t>, SyntheticTokens::Token> made;
  for (const RowTokens &row : rows)
    for (int64_t number = row.first; number < row.first + row.count; ++number)
      if (!made.count({row.sequence, number}))
        made[{row.sequence, number}] = tokens->token(row.sequence, number);
  const SyntheticTokens::Token nothing = tokens->token(0, 0);
  const bool several = program->info().tokensPerStep > 1;
  for (const KernelArg &arg : program->stepArguments()) {
    if (!isInput(arg))
      continue;
    std::vector<uint8_t> bytes;
    if (arg.rowWidth == 0) {
      DECANT_TRY(tokens->append(nothing, arg.name, bytes));
    } else {
      for (const RowTokens &row : rows) {
        for (int64_t number = row.first; number < row.first + row.count;
             ++number)
          DECANT_TRY(
              tokens->append(made[{row.sequence, number}], arg.name, bytes));
        if (row.count == 0 && !several) // padding has inputs, too
          DECANT_TRY(tokens->append(nothing, arg.name, bytes));
      }
    }
    bytes.resize(std::max<size_t>(bytes.size(), 16)); // no row may have tokens
    DECANT_TRY(upload(inputs[arg.name], bytes.data(), int64_t(bytes.size())));
  }
  return {};
}

Status TestedLayer::step(const std::vector<RowTokens> &rows) {
  const bool several = program->info().tokensPerStep > 1;
  std::vector<int32_t> numbers = slots;
  firstTokens = {0};
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!several && rows[row].count == 0)
      numbers[row] = -1;
    firstTokens.push_back(firstTokens.back() +
                          (several ? int32_t(rows[row].count) : 1));
  }
  DECANT_TRY(uploadInputs(rows));
  DECANT_TRY(upload(slotNumbers, numbers.data(), int64_t(numbers.size()) * 4));
  DECANT_TRY(
      upload(offsets, firstTokens.data(), int64_t(firstTokens.size()) * 4));
  DECANT_TRY(device->fill(out.data(), kPoison, out.bytes(), nullptr));

  StepCall call;
  call.pool = pool();
  call.rows = slotRows();
  if (several)
    call.cuSeqlens = static_cast<const int32_t *>(offsets.data());
  call.out = out.data();
  std::vector<NamedTensor> extra;
  const std::map<std::string, RowTensor StepCall::*> fields = {
      {"qkv", &StepCall::qkv},     {"q", &StepCall::q},
      {"k", &StepCall::k},         {"v", &StepCall::v},
      {"decay", &StepCall::decay}, {"beta", &StepCall::beta}};
  for (const auto &[name, buffer] : inputs) {
    const RowTensor tensor = {buffer.data()};
    if (name == "A_log")
      call.aLog = tensor.data;
    else if (name == "dt_bias")
      call.dtBias = tensor.data;
    else if (auto field = fields.find(name); field != fields.end())
      call.*field->second = tensor;
    else
      extra.push_back({name.c_str(), tensor});
  }
  call.extra = extra.data();
  call.extraCount = int(extra.size());
  DECANT_TRY(program->step(call));
  outputs.resize(out.bytes());
  DECANT_TRY(
      device->copyToHost(outputs.data(), out.data(), out.bytes(), nullptr));
  return device->synchronize(nullptr);
}

Status TestedLayer::commit(const std::vector<int32_t> &counts) {
  DECANT_TRY(upload(accepted, counts.data(), int64_t(counts.size()) * 4));
  CommitCall call;
  call.pool = pool();
  call.rows = slotRows();
  call.accepted = static_cast<const int32_t *>(accepted.data());
  DECANT_TRY(program->commit(call));
  return device->synchronize(nullptr);
}

Status TestedLayer::flush() {
  // The last step may have left rows out.
  DECANT_TRY(upload(slotNumbers, slots.data(), int64_t(slots.size()) * 4));
  FlushCall call;
  call.pool = pool();
  call.rows = slotRows();
  DECANT_TRY(program->flush(call));
  return device->synchronize(nullptr);
}

const uint8_t *TestedLayer::output(int64_t row, int token) const {
  return outputs.data() + (firstTokens[row] + token) * outputBytes();
}

bool TestedLayer::paddingIsZero(int64_t row) const {
  const uint8_t *bytes = output(row, 0);
  return std::all_of(bytes, bytes + outputBytes(),
                     [](uint8_t byte) { return byte == 0; });
}

Expected<std::vector<uint8_t>> TestedLayer::read(int64_t slot, int64_t first,
                                                 int64_t count) const {
  std::vector<uint8_t> bytes(count);
  DECANT_TRY(device->copyToHost(bytes.data(),
                                static_cast<const uint8_t *>(memory.data()) +
                                    slot * stride + first,
                                count, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  return bytes;
}

Expected<std::vector<uint8_t>> TestedLayer::slot(int64_t row) const {
  return read(slots[row], 0, program->info().slotBytes);
}

Status TestedLayer::checkPoison() const {
  for (int64_t slot = 0; slot < slotCount; ++slot) {
    const bool used = slot > 0 && slot + 1 < slotCount;
    const int64_t first = used ? program->info().slotBytes : 0;
    DECANT_ASSIGN(const std::vector<uint8_t> bytes,
                  read(slot, first, stride - first));
    for (size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] != kPoison)
        return Status::failed(fmt::format("byte {} of slot {} ({}) was written",
                                          first + int64_t(i), slot,
                                          used ? "in use" : "not in use"));
  }
  // Outputs behind the last token's.
  for (int64_t i = firstTokens.empty() ? 0 : firstTokens.back() * outputBytes();
       i < int64_t(outputs.size()); ++i)
    if (outputs[i] != kPoison)
      return Status::failed("an output behind the last token's was written");
  return {};
}
