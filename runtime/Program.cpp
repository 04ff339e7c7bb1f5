//===- Program.cpp - calls of a layer's kernels ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Program.h"

#include "DecodeVariant.h"
#include "SameSlots.h"
#include "Slots.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;

namespace {

ProgramInfo describeProgram(const KernelImage &image) {
  ProgramInfo info;
  info.specName = image.specName;
  info.target = image.target;
  info.slotBytes = image.layout.slotBytes;
  info.headBytes = image.layout.headBytes;
  info.heads = image.layout.valueHeads;
  info.keyDim = image.layout.keyDim;
  info.valueDim = image.layout.valueDim;
  info.window = image.layout.window;
  info.compensators = image.layout.compensators;
  info.tokensPerStep = image.layout.tokensPerStep;
  info.pad = image.pad;
  info.stateBytesPerHead = image.layout.stateBytesPerHead();
  info.bitsPerElement = image.layout.bitsPerElement();
  return info;
}

/// Fills in what every kernel call shares and checks it.
Status setRows(const ProgramInfo &program, SlotPool pool, const SlotRows &rows,
               CallValues &values) {
  values[Known::Rows].integer = rows.rows;
  values[Known::Slots].pointer = rows.slots;
  values[Known::SlotsStride].integer = rows.stride == 0 ? 1 : rows.stride;
  if (rows.rows < 0)
    return Status::invalid(
        fmt::format("argument \"rows\" is {}; 0 or more", rows.rows));
  if (rows.rows > 1 && rows.stride < 0)
    return Status::invalid(fmt::format(
        "argument \"slots_stride\" is {}; 0 (packed) or more", rows.stride));
  DECANT_TRY(resolvePool(program, "", pool));
  // Without padding every row needs a slot of its own.
  if (program.pad == PadPolicy::None && pool.count > 0 &&
      rows.rows > pool.count)
    return Status::invalid(fmt::format(
        "argument \"rows\" is {}, the pool has {} slots, and the program has "
        "no padding rows",
        rows.rows, pool.count));
  values[Known::State].pointer = pool.base;
  values[Known::StateStride].integer = pool.strideBytes;
  return {};
}

/// Fills in strides of dense states and checks that no two states overlap.
Status setDense(const ProgramInfo &program, const DenseCall &call,
                const KernelArg &dense, CallValues &values) {
  int64_t stateSize = int64_t(program.keyDim) * program.valueDim;
  int64_t head = call.headStride ? call.headStride : stateSize;
  int64_t row = call.rowStride, rows = call.rows.rows, heads = program.heads;
  int64_t allHeads = 0, allRows = 0;
  bool fits = !__builtin_mul_overflow(heads, head, &allHeads);
  if (row == 0)
    row = allHeads;
  fits = fits &&
         !__builtin_mul_overflow(std::max<int64_t>(rows, 1), row, &allRows);
  if (!fits || head < 0 || row < 0)
    return Status::invalid(fmt::format(
        "dense strides are {} per row and {} per head; 0 (packed) or more, "
        "within 2^63 elements",
        call.rowStride, call.headStride));
  // Either axis may be the outer one; a stride of an axis of size 1 is free.
  bool headsInside = heads == 1 || head >= stateSize;
  bool rowsInside = rows <= 1 || row >= stateSize;
  bool apart = rows <= 1 || heads == 1 ||
               row >= (heads - 1) * head + stateSize ||
               head >= (rows - 1) * row + stateSize;
  if (!headsInside || !rowsInside || !apart)
    return Status::invalid(fmt::format(
        "dense strides are {} elements per row and {} per head; the {} x {} "
        "states of {} rows and {} heads would overlap",
        row, head, program.keyDim, program.valueDim, rows, heads));
  bool keyMajor = call.order == DenseOrder::KeyValue;
  values[Known::Dense].pointer = call.dense;
  values[Known::DenseRow].integer = row;
  values[Known::DenseHead].integer = head;
  values[Known::DenseKey].integer = keyMajor ? program.valueDim : 1;
  values[Known::DenseValue].integer = keyMajor ? 1 : program.keyDim;
  int64_t element = elementBytes(dense.type);
  if (rows > 1)
    DECANT_TRY(checkStrideAligned("dense_row", row, element, dense.align));
  if (heads > 1)
    DECANT_TRY(checkStrideAligned("dense_head", head, element, dense.align));
  return {};
}

} // namespace

Program::Program() = default;
Program::~Program() = default;

Expected<std::unique_ptr<Program>>
Program::create(std::shared_ptr<Device> device, KernelImage decode,
                std::optional<KernelImage> transfer,
                const LoadOptions &options) {
  ProgramImages images;
  images.decode.push_back(std::move(decode));
  images.transfer = std::move(transfer);
  return create(std::move(device), std::move(images), options);
}

Expected<std::unique_ptr<Program>>
Program::create(std::shared_ptr<Device> device, ProgramImages images,
                const LoadOptions &options) {
  DECANT_TRY(checkRules(images.rules, images.decode.size()));
  const KernelImage &first = images.decode.front();
  for (size_t i = 1; i < images.decode.size(); ++i)
    DECANT_TRY(
        checkSameStep(first, images.decode[i], fmt::format("variant {}", i)));
  if (images.transfer)
    DECANT_TRY(checkSameSlots(first, *images.transfer, "transfer image"));

  std::unique_ptr<Program> program(new Program());
  program->target = std::move(device);
  program->facts = describeProgram(first);
  program->batchRules = std::move(images.rules);
  for (KernelImage &image : images.decode)
    DECANT_TRY(program->addVariant(std::move(image), options));
  if (images.transfer)
    DECANT_TRY(program->addTransfer(std::move(*images.transfer), options));
  return Expected<std::unique_ptr<Program>>(std::move(program));
}

Status Program::addVariant(KernelImage image, const LoadOptions &options) {
  DECANT_ASSIGN(auto variant,
                DecodeVariant::create(*target, std::move(image), options));
  const bool isFirst = variants.empty();
  facts.maxRows =
      isFirst ? variant->maxRows : std::min(facts.maxRows, variant->maxRows);
  facts.slotAlign = std::max(facts.slotAlign, variant->slotAlign);
  facts.stepFolds = (isFirst || facts.stepFolds) && variant->stepFolds;
  facts.tensorCores |= variant->tensorCores;
  // What suits the strictest variant suits a batch of any size.
  const std::vector<KernelArg> &args = variant->step->entry().args;
  if (isFirst)
    stepArgs = args;
  for (size_t i = 0; i < args.size(); ++i)
    stepArgs[i].align = std::max(stepArgs[i].align, args[i].align);
  variants.push_back(std::move(variant));
  return {};
}

Status Program::addTransfer(KernelImage image, const LoadOptions &options) {
  DECANT_ASSIGN(transfer, target->load(std::move(image), options));
  facts.canTransfer = true;
  struct Table {
    const char *role;
    std::unique_ptr<ArgTable> Program::*member;
  };
  for (const Table &table : {Table{"pack_f32", &Program::packF32},
                             Table{"pack_bf16", &Program::packBf16},
                             Table{"unpack_f32", &Program::unpackF32},
                             Table{"unpack_bf16", &Program::unpackBf16}}) {
    std::unique_ptr<ArgTable> &made = this->*table.member;
    DECANT_ASSIGN(made, ArgTable::create(*transfer, table.role));
    facts.slotAlign = std::max<int64_t>(facts.slotAlign, made->stateAlign());
  }
  return {};
}

const DecodeVariant &Program::variantFor(int64_t rows) const {
  return *variants[size_t(variantForRows(batchRules, rows))];
}

const KernelImage &Program::variant(int number) const {
  return variants[size_t(number)]->image();
}

const SlotLayout &Program::layout() const { return variant(0).layout; }

std::vector<KernelResources> Program::resources() const {
  std::vector<KernelResources> all;
  auto append = [&all](const LoadedImage &image) {
    all.insert(all.end(), image.resources().begin(), image.resources().end());
  };
  for (const std::unique_ptr<DecodeVariant> &variant : variants)
    append(*variant->loaded);
  if (transfer)
    append(*transfer);
  return all;
}

Status Program::gatherStep(const StepCall &call, const DecodeVariant &variant,
                           ArgValue *stepArgs, ArgValue *commitArgs) const {
  CallValues values;
  DECANT_TRY(setRows(facts, call.pool, call.rows, values));
  if (call.extraCount < 0 || (call.extraCount > 0 && !call.extra))
    return Status::invalid(
        fmt::format("argument \"extra_count\" is {} and extra is {}",
                    call.extraCount, call.extra ? "given" : "null"));
  values.setTensor(Known::Qkv, call.qkv.data, call.qkv.stride);
  values.setTensor(Known::Q, call.q.data, call.q.stride);
  values.setTensor(Known::K, call.k.data, call.k.stride);
  values.setTensor(Known::V, call.v.data, call.v.stride);
  values.setTensor(Known::Decay, call.decay.data, call.decay.stride);
  values.setTensor(Known::Beta, call.beta.data, call.beta.stride);
  values.setTensor(Known::Out, call.out, call.outStride);
  values[Known::CuSeqlens].pointer = call.cuSeqlens;
  values.tokensPerStep = facts.tokensPerStep;
  values[Known::ALog].pointer = call.aLog;
  values[Known::DtBias].pointer = call.dtBias;
  values.extra = call.extra;
  values.extraCount = call.extraCount;
  // Of several tokens per step, those to come are more than the window has room
  // for; one token has been there.
  values[Known::MinFill].integer = facts.window + (facts.tokensPerStep > 1);
  return variant.gatherStep(values, stepArgs, commitArgs);
}

// An engine with an empty batch may have no tensors either, so a call without
// rows asks for nothing else.
Status Program::supported(const StepCall &call) const {
  ArgValue stepArgs[kMaxKernelArgs], commitArgs[kMaxKernelArgs];
  if (call.rows.rows == 0)
    return {};
  Status status =
      gatherStep(call, variantFor(call.rows.rows), stepArgs, commitArgs);
  return status.ok()
             ? status
             : status.within(fmt::format("step of \"{}\"", facts.specName));
}

Status Program::step(const StepCall &call) const {
  ArgValue stepArgs[kMaxKernelArgs], commitArgs[kMaxKernelArgs];
  const int64_t rows = call.rows.rows;
  if (rows == 0)
    return {};
  const DecodeVariant &variant = variantFor(rows);
  Status status = gatherStep(call, variant, stepArgs, commitArgs);
  if (status.ok())
    status = variant.launchStep(rows, stepArgs, commitArgs, call.stream);
  return status.ok()
             ? status
             : status.within(fmt::format("step of \"{}\"", facts.specName));
}

Status Program::commit(const CommitCall &call) const {
  const std::string where = fmt::format("commit of \"{}\"", facts.specName);
  const ArgTable *table = variantFor(call.rows.rows).accept.get();
  if (!table)
    return Status::invalid(
        where +
        ": tokens_per_step is 1, and a step of one token is part of the "
        "sequence at once; 2 to 8 are allowed");
  if (call.rows.rows == 0)
    return {};
  CallValues values;
  ArgValue args[kMaxKernelArgs];
  Status status = setRows(facts, call.pool, call.rows, values);
  values[Known::Accepted].pointer = call.accepted;
  if (status.ok())
    status = table->gather(values, args);
  if (status.ok())
    status = table->launch(call.rows.rows, args, call.stream);
  return status.ok() ? status : status.within(where);
}

Status Program::flush(const FlushCall &call) const {
  if (call.rows.rows == 0)
    return {};
  CallValues values;
  ArgValue args[kMaxKernelArgs];
  const ArgTable *table = variantFor(call.rows.rows).commit.get();
  Status status = setRows(facts, call.pool, call.rows, values);
  values[Known::MinFill].integer = 1;
  // No tokens are to come; the kernel reads two numbers and uses none.
  values[Known::CuSeqlens].pointer = values[Known::State].pointer;
  if (status.ok() && table)
    status = table->gather(values, args);
  if (status.ok() && table)
    status = table->launch(call.rows.rows, args, call.stream);
  return status.ok()
             ? status
             : status.within(fmt::format("flush of \"{}\"", facts.specName));
}

Status Program::pack(const DenseCall &call) const {
  Status status = runDense(
      call.type == ElementType::F32 ? packF32.get() : packBf16.get(), call);
  return status.ok()
             ? status
             : status.within(fmt::format("pack of \"{}\"", facts.specName));
}

Status Program::unpack(const DenseCall &call) const {
  Status status = runDense(
      call.type == ElementType::F32 ? unpackF32.get() : unpackBf16.get(), call);
  return status.ok()
             ? status
             : status.within(fmt::format("unpack of \"{}\"", facts.specName));
}

Status Program::runDense(const ArgTable *table, const DenseCall &call) const {
  if (call.type != ElementType::F32 && call.type != ElementType::BF16)
    return Status::invalid(
        fmt::format("argument \"type\" is {}; f32 and bf16 are allowed",
                    toString(call.type)));
  if (!table)
    return Status::invalid("the program was made without a transfer image, "
                           "which holds pack and unpack");
  if (call.rows.rows == 0)
    return {};
  CallValues values;
  ArgValue args[kMaxKernelArgs];
  DECANT_TRY(setRows(facts, call.pool, call.rows, values));
  for (const KernelArg &arg : table->entry().args)
    if (arg.name == "dense")
      DECANT_TRY(setDense(facts, call, arg, values));
  DECANT_TRY(table->gather(values, args));
  return table->launch(call.rows.rows, args, call.stream);
}
