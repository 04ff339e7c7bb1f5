//===- TraceDecoder.cpp - a trace through a compiled kernel ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceDecoder.h"

#include "Progress.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin)
      .count();
}

constexpr int kSlots = 3, kOwnSlot = 1;
/// All ones is a NaN in every float type and no sensible code or count, so that
/// a byte that is read by mistake shows.
constexpr uint8_t kPoison = 0xff;

bool isQkv(const std::string &name) {
  return name == "q" || name == "k" || name == "v";
}

/// 0 for a tensor of the layer, which is the same for all tokens.
int64_t rowBytesOf(const TraceInput &input) {
  if (input.input.source == RuleInput::Layer)
    return 0;
  return int64_t(input.heads) * input.width * elementBytes(input.tensor->type);
}

/// [q heads | k heads | v heads] of every token.
std::vector<uint8_t> packQkv(const TraceView &view) {
  std::vector<uint8_t> packed;
  for (int64_t token = 0; token < view.tokens; ++token)
    for (const char *name : {"q", "k", "v"}) {
      const TraceInput &input = *view.find(name);
      const int64_t bytes = rowBytesOf(input);
      const uint8_t *row = input.tensor->bytes.data() + token * bytes;
      packed.insert(packed.end(), row, row + bytes);
    }
  return packed;
}

template <typename Word> Word loadWord(const uint8_t *bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

} // namespace

TraceDecoder::TraceDecoder(const Program &program,
                           std::shared_ptr<Device> device,
                           const DecodeSpec &spec)
    : program(&program), device(std::move(device)), spec(&spec) {}

Expected<TraceDecoder> TraceDecoder::create(const Program &program,
                                            std::shared_ptr<Device> device,
                                            const DecodeSpec &spec,
                                            const TraceView &view) {
  TraceDecoder decoder(program, std::move(device), spec);
  DECANT_TRY(decoder.uploadInputs(view));
  const int32_t slot = kOwnSlot;
  DECANT_ASSIGN(decoder.slots, decoder.upload(&slot, sizeof(slot)));
  const ProgramInfo &info = program.info();
  std::vector<int32_t> numbers;
  for (int32_t count = 0; count <= info.tokensPerStep; ++count)
    numbers.insert(numbers.end(), {0, count});
  DECANT_ASSIGN(
      decoder.numbers,
      decoder.upload(numbers.data(), numbers.size() * sizeof(int32_t)));
  DECANT_ASSIGN(decoder.pool,
                DeviceBuffer::create(decoder.device, kSlots * info.slotBytes));
  decoder.outputRowBytes =
      int64_t(info.heads) * info.valueDim * elementBytes(spec.inputs.output);
  DECANT_ASSIGN(decoder.outputs,
                DeviceBuffer::create(decoder.device,
                                     view.tokens * decoder.outputRowBytes));
  return Expected<TraceDecoder>(std::move(decoder));
}

Expected<DeviceBuffer> TraceDecoder::upload(const void *bytes, int64_t count) {
  DECANT_ASSIGN(DeviceBuffer buffer, DeviceBuffer::create(device, count));
  DECANT_TRY(device->copyToDevice(buffer.data(), bytes, count, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  return Expected<DeviceBuffer>(std::move(buffer));
}

Status TraceDecoder::uploadInputs(const TraceView &view) {
  const bool packed = spec->inputs.layout == InputLayout::PackedQkv;
  if (packed) {
    const std::vector<uint8_t> rows = packQkv(view);
    DECANT_ASSIGN(DeviceBuffer memory, upload(rows.data(), rows.size()));
    inputs.push_back(
        {"qkv", std::move(memory), int64_t(rows.size()) / view.tokens});
  }
  for (const TraceInput &input : view.inputs) {
    const std::string &name = input.input.name;
    if (packed && isQkv(name))
      continue;
    DECANT_ASSIGN(DeviceBuffer memory, upload(input.tensor->bytes.data(),
                                              input.tensor->bytes.size()));
    inputs.push_back(
        {name == "g" ? "decay" : name, std::move(memory), rowBytesOf(input)});
  }
  if (view.aLog) {
    DECANT_ASSIGN(aLog,
                  upload(view.aLog->bytes.data(), view.aLog->bytes.size()));
    DECANT_ASSIGN(dtBias,
                  upload(view.dtBias->bytes.data(), view.dtBias->bytes.size()));
  }
  return {};
}

Status TraceDecoder::resetPool() {
  DECANT_TRY(device->fill(pool.data(), kPoison, pool.bytes(), nullptr));
  DECANT_TRY(device->fill(outputs.data(), kPoison, outputs.bytes(), nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  const int32_t slot = kOwnSlot;
  ZeroCall zero;
  zero.pool = {pool.data(), 0, kSlots};
  zero.slots = &slot;
  zero.count = 1;
  DECANT_TRY(program->zero(zero));
  return device->synchronize(nullptr);
}

Status TraceDecoder::step(int64_t token, int64_t count, StreamHandle stream) {
  StepCall call;
  call.pool = {pool.data(), 0, kSlots};
  call.rows.slots = static_cast<const int32_t *>(slots.data());
  call.rows.rows = 1;
  call.stream = stream;
  if (program->info().tokensPerStep > 1)
    call.cuSeqlens = static_cast<const int32_t *>(numbers.data()) + 2 * count;
  std::vector<NamedTensor> extra;
  for (const Input &input : inputs) {
    const RowTensor row{static_cast<const char *>(input.memory.data()) +
                        token * input.rowBytes};
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
      extra.push_back({input.name.c_str(), row});
  }
  call.extra = extra.data();
  call.extraCount = int(extra.size());
  if (aLog.data()) {
    call.aLog = aLog.data();
    call.dtBias = dtBias.data();
  }
  call.out = static_cast<char *>(outputs.data()) + token * outputRowBytes;
  return program->step(call);
}

Status TraceDecoder::commit(int64_t accepted, StreamHandle stream) {
  CommitCall call;
  call.pool = {pool.data(), 0, kSlots};
  call.rows.slots = static_cast<const int32_t *>(slots.data());
  call.rows.rows = 1;
  call.accepted =
      static_cast<const int32_t *>(numbers.data()) + 2 * accepted + 1;
  call.stream = stream;
  return program->commit(call);
}

Status TraceDecoder::decodeOneByOne(const std::vector<int64_t> &points,
                                    const Look &look, DecodedTrace &result) {
  const int64_t tokens = points.back(), window = program->info().window;
  Progress progress("token", tokens);
  auto next = points.begin();
  for (int64_t token = 0; token < tokens; ++token) {
    const Clock::time_point begin = Clock::now();
    DECANT_TRY(step(token, 1, nullptr));
    hostMicroseconds.push_back(microsecondsSince(begin));
    const int64_t done = token + 1;
    if (done % window == 0)
      result.folds.push_back(done);
    if (done == *next) {
      DECANT_TRY(device->synchronize(nullptr));
      DECANT_ASSIGN(const std::vector<double> states,
                    readStates(done, done % window));
      look(*next++, states);
    }
    progress.update(token);
  }
  result.steps = tokens;
  return {};
}

Status TraceDecoder::decodeSeveral(int64_t tokens, DecodedTrace &result) {
  Progress progress("token", tokens);
  const int64_t window = program->info().window;
  const int64_t most = program->info().tokensPerStep;
  int64_t token = 0, folded = 0;
  for (; token < tokens; ++result.steps) {
    const int64_t count = std::min(most - result.steps % most, tokens - token);
    const int64_t accepted = result.steps % 2 == 1 ? (count + 1) / 2 : count;
    if (token - folded + count > window)
      result.folds.push_back(folded = token);
    const Clock::time_point begin = Clock::now();
    DECANT_TRY(step(token, count, nullptr));
    DECANT_TRY(commit(accepted, nullptr));
    if (count == most)
      hostMicroseconds.push_back(microsecondsSince(begin));
    token += accepted;
    progress.update(token);
  }
  return {};
}

Expected<DecodedTrace> TraceDecoder::decode(int64_t tokens) {
  return decode({tokens}, [](int64_t, const std::vector<double> &) {});
}

Expected<DecodedTrace> TraceDecoder::decode(const std::vector<int64_t> &points,
                                            const Look &look) {
  const int64_t tokens = points.back();
  DECANT_TRY(resetPool());
  hostMicroseconds.clear();
  decodedTokens = tokens;
  DecodedTrace result;
  if (program->info().tokensPerStep > 1)
    DECANT_TRY(decodeSeveral(tokens, result));
  else
    DECANT_TRY(decodeOneByOne(points, look, result));
  DECANT_TRY(device->synchronize(nullptr));
  DECANT_ASSIGN(result.outputs, readOutputs(tokens));
  const int64_t fill =
      tokens - (result.folds.empty() ? 0 : result.folds.back());
  DECANT_ASSIGN(result.states, readStates(tokens, fill));
  return result;
}

Expected<std::vector<double>> TraceDecoder::readOutputs(int64_t tokens) {
  std::vector<uint8_t> bytes(tokens * outputRowBytes);
  DECANT_TRY(
      device->copyToHost(bytes.data(), outputs.data(), bytes.size(), nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  const ElementType type = spec->inputs.output;
  std::vector<double> values(bytes.size() / elementBytes(type));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = loadElement(type, &bytes[i * elementBytes(type)]);
  return values;
}

Expected<std::vector<double>> TraceDecoder::readStates(int64_t tokens,
                                                       int64_t fill) {
  const SlotLayout &layout = program->layout();
  std::vector<uint8_t> bytes(pool.bytes());
  DECANT_TRY(
      device->copyToHost(bytes.data(), pool.data(), bytes.size(), nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  const uint8_t *own = bytes.data() + kOwnSlot * layout.slotBytes;
  for (const uint8_t *byte = bytes.data(); byte < &*bytes.end(); ++byte)
    if ((byte < own || byte >= own + layout.slotBytes) && *byte != kPoison)
      return Status::failed(fmt::format(
          "{}: the kernel wrote byte {} of slot {}, a neighbour of slot {}, "
          "the only one that it was given",
          spec->name, (byte - bytes.data()) % layout.slotBytes,
          (byte - bytes.data()) / layout.slotBytes, kOwnSlot));
  DECANT_TRY(checkHeader(own, tokens, fill));
  std::vector<double> states;
  for (int head = 0; head < layout.valueHeads; ++head) {
    const std::vector<double> state =
        decodeHead(layout.ofHead(head), own + layout.headOffset(head));
    states.insert(states.end(), state.begin(), state.end());
  }
  return states;
}

Status TraceDecoder::checkHeader(const uint8_t *slot, int64_t tokens,
                                 int64_t wantedFill) const {
  const auto version = loadWord<uint32_t>(slot);
  const auto fill = loadWord<uint32_t>(slot + 4);
  const auto count = loadWord<uint64_t>(slot + 8);
  const auto order = loadWord<uint32_t>(slot + 4 * kCodeOrderWord);
  const SlotLayout &layout = program->layout();
  if (order != uint32_t(layout.codeOrder))
    return Status::failed(fmt::format(
        "{}: the slot's header says code order {}; the image stores {} ({})",
        spec->name, order, int(layout.codeOrder), toString(layout.codeOrder)));
  if (version == kSlotVersion && int64_t(fill) == wantedFill &&
      int64_t(count) == tokens)
    return {};
  return Status::failed(fmt::format(
      "{}: the slot's header says version {}, {} tokens in the window and {} "
      "in all; after this trace it should say {}, {} and {}",
      spec->name, version, fill, count, kSlotVersion, wantedFill, tokens));
}
