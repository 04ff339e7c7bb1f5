//===- Layer.cpp - a compiled layer on the CPU device ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layer.h"

#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

#include <algorithm>
#include <cstring>

using namespace decant;
using namespace decant::test;

namespace {

constexpr uint8_t kPoison = 0xA5;
/// Bytes after each slot of a spread pool.
constexpr int64_t kSlotGap = 208;

void storeRows(const std::vector<double> &values, int64_t rows, int64_t stride,
               int64_t offset, ElementType type, uint8_t *bytes) {
  const int64_t width = int64_t(values.size()) / rows;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < width; ++i)
      storeElement(type, values[row * width + i],
                   bytes + (row * stride + offset + i) * elementBytes(type));
}

} // namespace

Placement test::inOrder(int64_t rows) {
  Placement placement;
  for (int64_t row = 0; row < rows; ++row)
    placement.slots.push_back(int32_t(row));
  return placement;
}

AlignedBytes::AlignedBytes(int64_t size)
    : memory(size + 2 * kSlotAlign, kPoison), length(size) {
  // One step beyond a multiple of 32, so that nothing is aligned to more.
  while (reinterpret_cast<uintptr_t>(data()) % (2 * kSlotAlign) != kSlotAlign)
    ++start;
}

bool test::operator==(const AlignedBytes &a, const AlignedBytes &b) {
  return a.length == b.length && std::memcmp(a.data(), b.data(), a.length) == 0;
}

Layer::Layer(const DecodeSpec &spec, Placement where, Kernels kernels,
             Engine &engine, CodeOrder order)
    : spec(spec), placement(std::move(where)) {
  CompileOptions options;
  options.order = order;
  compile(engine, kernels, options);
  allocate();
}

Layer::Layer(const DecodeSpec &spec, Placement where, const Schedule &schedule,
             CodeOrder order, Kernels kernels)
    : spec(spec), placement(std::move(where)) {
  CompileOptions options;
  options.schedule = schedule;
  options.order = order;
  compile(sharedEngine(), kernels, options);
  allocate();
}

void Layer::compile(Engine &engine, Kernels kernels, CompileOptions options) {
  std::shared_ptr<Device> device = valueOf(engine.openDevice("cpu"));
  options.target = valueOf(targetFor(*device));
  KernelImage decode = valueOf(engine.image(spec, options));
  options.kernels = KernelSet::Transfer;
  compiled =
      valueOf(kernels == Kernels::Decode
                  ? Program::create(device, std::move(decode))
                  : Program::create(device, std::move(decode),
                                    valueOf(engine.image(spec, options))));
}

void Layer::allocate() {
  const std::vector<int32_t> &slots = placement.slots;
  count = placement.slotCount;
  if (count == 0)
    count =
        std::max<int32_t>(0, *std::max_element(slots.begin(), slots.end())) + 1;
  strideBytes = compiled->info().slotBytes + (placement.spread ? kSlotGap : 0);
  poolBytes = AlignedBytes(count * strideBytes);
  slotsStride = placement.spread ? 3 : 1;
  slotNumbers.assign(slots.size() * slotsStride, -77);
  std::vector<int32_t> live;
  for (size_t row = 0; row < slots.size(); ++row) {
    slotNumbers[row * slotsStride] = slots[row];
    const bool padding =
        slots[row] < 0 ||
        (slots[row] == 0 && spec.inputs.pad == PadPolicy::NonPositive);
    if (!padding)
      live.push_back(slots[row]);
  }
  if (!live.empty()) {
    ZeroCall zero;
    zero.pool = slotPool();
    zero.slots = live.data();
    zero.count = int64_t(live.size());
    require(compiled->zero(zero));
  }

  int64_t spreads = 1;
  for (const KernelArg &arg : compiled->stepArguments()) {
    if (arg.kind != ArgKind::Pointer || arg.name == "state" ||
        arg.name == "slots" || arg.name == "cu_seqlens")
      continue;
    Tensor tensor;
    tensor.arg = arg;
    const int64_t size = elementBytes(arg.type);
    if (arg.rowWidth == 0) { // of the layer
      const int64_t most = int64_t(spec.heads.value) *
                           std::max(spec.heads.keyDim, spec.heads.valueDim);
      tensor.bytes = AlignedBytes(most * size);
    } else {
      tensor.stride = arg.rowWidth;
      if (placement.spread) // each input its own, to tell them apart
        tensor.stride += spreads++ * std::max<int64_t>(1, arg.align / size);
      tensor.bytes =
          AlignedBytes(rows() * spec.tokensPerStep * tensor.stride * size);
    }
    tensors[arg.name] = std::move(tensor);
  }
}

uint8_t *Layer::slot(int32_t number) {
  return poolBytes.data() + number * strideBytes;
}

SlotRows Layer::slotRows() const {
  return {slotNumbers.data(), slotsStride, rows()};
}

void Layer::write(const Token &token, int64_t first, int64_t rows) {
  for (const auto &[name, values] : token) {
    std::string target = name;
    int64_t offset = 0;
    if (tensors.count("qkv") && (name == "q" || name == "k" || name == "v")) {
      target = "qkv";
      offset = name == "q" ? 0 : spec.heads.key * spec.heads.keyDim;
      offset *= name == "v" ? 2 : 1;
    }
    auto found = tensors.find(target);
    if (found == tensors.end())
      throw std::runtime_error("the kernel takes no \"" + target + "\"");
    Tensor &tensor = found->second;
    storeRows(values, tensor.arg.rowWidth == 0 ? 1 : rows, tensor.stride,
              offset + first * tensor.stride, tensor.arg.type,
              tensor.bytes.data());
  }
}

StepCall Layer::call() {
  StepCall call;
  call.pool = slotPool();
  call.rows = slotRows();
  call.cuSeqlens = spec.tokensPerStep > 1 ? cuSeqlens.data() : nullptr;
  extras.clear();
  const std::map<std::string, RowTensor StepCall::*> fields = {
      {"qkv", &StepCall::qkv},     {"q", &StepCall::q},
      {"k", &StepCall::k},         {"v", &StepCall::v},
      {"decay", &StepCall::decay}, {"beta", &StepCall::beta}};
  for (auto &[name, tensor] : tensors) {
    const RowTensor rows = {tensor.bytes.data(),
                            placement.spread ? tensor.stride : 0};
    if (name == "out") {
      call.out = tensor.bytes.data();
      call.outStride = rows.stride;
    } else if (name == "A_log") {
      call.aLog = rows.data;
    } else if (name == "dt_bias") {
      call.dtBias = rows.data;
    } else if (auto field = fields.find(name); field != fields.end()) {
      call.*field->second = rows;
    } else {
      extras.push_back({name.c_str(), rows});
    }
  }
  call.extra = extras.data();
  call.extraCount = int(extras.size());
  return call;
}

void Layer::poisonOutputs() {
  AlignedBytes &bytes = tensors.at("out").bytes;
  const AlignedBytes poisoned(bytes.size());
  std::memcpy(bytes.data(), poisoned.data(), poisoned.size());
}

std::vector<double> Layer::step(const Token &token) {
  write(token, 0, rows());
  poisonOutputs();
  require(compiled->step(call()));
  return readOutputs(0, rows());
}

std::vector<std::vector<double>>
Layer::draft(const std::vector<std::vector<Token>> &tokens) {
  cuSeqlens = {0};
  for (const std::vector<Token> &ofRow : tokens) {
    for (const Token &token : ofRow)
      write(token, cuSeqlens.back() + (&token - ofRow.data()), 1);
    cuSeqlens.push_back(cuSeqlens.back() + int32_t(ofRow.size()));
  }
  poisonOutputs();
  require(compiled->step(call()));
  std::vector<std::vector<double>> outputs;
  for (size_t row = 0; row < tokens.size(); ++row)
    outputs.push_back(
        readOutputs(cuSeqlens[row], cuSeqlens[row + 1] - cuSeqlens[row]));
  const Tensor &out = tensors.at("out");
  for (int64_t i = cuSeqlens.back() * out.stride * elementBytes(out.arg.type);
       i < out.bytes.size(); ++i)
    if (out.bytes.data()[i] != kPoison)
      throw std::runtime_error("the kernel wrote beyond the last token");
  return outputs;
}

void Layer::commit(const std::vector<int32_t> &accepted) {
  CommitCall commit;
  commit.pool = slotPool();
  commit.rows = slotRows();
  commit.accepted = accepted.data();
  require(compiled->commit(commit));
}

std::vector<double> Layer::readOutputs(int64_t first, int64_t count) {
  const Tensor &out = tensors.at("out");
  const int64_t size = elementBytes(out.arg.type), width = out.arg.rowWidth;
  std::vector<double> outputs(count * width);
  for (int64_t row = 0; row < count; ++row) {
    const uint8_t *bytes = out.bytes.data() + (first + row) * out.stride * size;
    for (int64_t i = 0; i < width; ++i)
      outputs[row * width + i] = loadElement(out.arg.type, bytes + i * size);
    for (int64_t i = width * size; i < out.stride * size; ++i)
      if (bytes[i] != kPoison)
        throw std::runtime_error("the kernel wrote between the output's rows");
  }
  return outputs;
}

void Layer::flush() {
  FlushCall call;
  call.pool = slotPool();
  call.rows = slotRows();
  require(compiled->flush(call));
}

DenseCall Layer::denseCall(ElementType type, DenseOrder order) {
  const int64_t stateSize = int64_t(layout().keyDim) * layout().valueDim;
  DenseCall dense;
  dense.pool = slotPool();
  dense.rows = slotRows();
  dense.type = type;
  dense.order = order;
  dense.headStride = stateSize + (placement.spread ? 5 : 0);
  dense.rowStride =
      layout().valueHeads * dense.headStride + (placement.spread ? 3 : 0);
  denseBytes = AlignedBytes(rows() * dense.rowStride * elementBytes(type));
  dense.dense = denseBytes.data();
  return dense;
}

namespace {

/// Calls `visit` with the place of each element of a dense tensor, in the order
/// [rows, heads, key, value].
template <typename Visit>
void forDense(const DenseCall &dense, const SlotLayout &layout, Visit visit) {
  const bool keyMajor = dense.order == DenseOrder::KeyValue;
  auto *bytes = static_cast<uint8_t *>(dense.dense);
  for (int64_t row = 0; row < dense.rows.rows; ++row)
    for (int head = 0; head < layout.valueHeads; ++head)
      for (int k = 0; k < layout.keyDim; ++k)
        for (int v = 0; v < layout.valueDim; ++v) {
          const int64_t at =
              row * dense.rowStride + head * dense.headStride +
              (keyMajor ? k * layout.valueDim + v : v * layout.keyDim + k);
          visit(bytes + at * elementBytes(dense.type));
        }
}

} // namespace

void Layer::pack(const std::vector<double> &states, ElementType type,
                 DenseOrder order) {
  const DenseCall dense = denseCall(type, order);
  auto next = states.begin();
  forDense(dense, layout(),
           [&](uint8_t *at) { storeElement(type, *next++, at); });
  require(compiled->pack(dense));
}

std::vector<double> Layer::unpack(ElementType type, DenseOrder order) {
  const DenseCall dense = denseCall(type, order);
  require(compiled->unpack(dense));
  std::vector<double> states;
  forDense(dense, layout(),
           [&](uint8_t *at) { states.push_back(loadElement(type, at)); });
  return states;
}

std::vector<double> Layer::carried() {
  std::vector<double> all;
  const Region &region = layout().carried;
  for (int32_t number : placement.slots)
    for (int head = 0; head < layout().valueHeads; ++head)
      for (int row = 0; row < layout().record.carried; ++row)
        for (int k = 0; k < layout().keyDim; ++k)
          all.push_back(loadElement(
              region.type,
              slot(number) + kSlotHeaderBytes + head * layout().headBytes +
                  region.offset +
                  (row * region.width + k) * elementBytes(region.type)));
  return all;
}

std::vector<double> Layer::states() {
  std::vector<double> all;
  for (int32_t number : placement.slots)
    for (int head = 0; head < layout().valueHeads; ++head) {
      const std::vector<double> state = decodeHead(
          layout().ofHead(head), slot(number) + layout().headOffset(head));
      all.insert(all.end(), state.begin(), state.end());
    }
  return all;
}

bool Layer::poolGapsIntact() const {
  std::vector<bool> live(count, false);
  for (int32_t number : placement.slots)
    if (number > 0 ||
        (number == 0 && spec.inputs.pad != PadPolicy::NonPositive))
      live[number] = true;
  for (int64_t number = 0; number < count; ++number)
    for (int64_t i = live[number] ? compiled->info().slotBytes : 0;
         i < strideBytes; ++i)
      if (poolBytes.data()[number * strideBytes + i] != kPoison)
        return false;
  return true;
}
