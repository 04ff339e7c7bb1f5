//===- CAPIProgram.cpp - programs and their calls in C --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies fields from C structs to C++ ones, no more: the checks are Program's.
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/CApi.h"

#include <array>
#include <fmt/format.h>

using namespace decant;
using namespace decant::capi;

namespace {

SlotPool convert(const DecantSlotPool &pool) {
  return {pool.state, pool.slot_stride_bytes, pool.slot_count};
}
SlotRows convert(const DecantSlotRows &rows) {
  return {rows.slots, rows.slots_stride, rows.rows};
}
RowTensor convert(const DecantRowTensor &tensor) {
  return {tensor.data, tensor.stride};
}

BatchRule convert(const DecantBatchRule &rule) {
  return {rule.max_rows == 0 ? kAnyRows : rule.max_rows, rule.decode};
}

/// Room for the inputs of a rule's own; no entry has more arguments.
using ExtraInputs = std::array<NamedTensor, kMaxKernelArgs>;

Status convert(const DecantStepCall *given, ExtraInputs &extra,
               StepCall &result) {
  DecantStepCall call;
  DECANT_TRY(readSized("call", given, call));
  if (call.extra_count < 0 || call.extra_count > kMaxKernelArgs ||
      (call.extra_count > 0 && !call.extra))
    return Status::invalid(fmt::format(
        "argument \"extra_count\" is {} and extra is {}; 0 to {} "
        "inputs are allowed",
        call.extra_count, call.extra ? "given" : "null", kMaxKernelArgs));
  for (int i = 0; i < call.extra_count; ++i)
    extra[size_t(i)] = {call.extra[i].name, convert(call.extra[i].tensor)};
  result.pool = convert(call.pool);
  result.rows = convert(call.rows);
  result.qkv = convert(call.qkv);
  result.q = convert(call.q);
  result.k = convert(call.k);
  result.v = convert(call.v);
  result.decay = convert(call.decay);
  result.beta = convert(call.beta);
  result.aLog = call.A_log;
  result.dtBias = call.dt_bias;
  result.out = call.out;
  result.outStride = call.out_stride;
  result.extra = extra.data();
  result.extraCount = call.extra_count;
  result.stream = call.stream;
  result.cuSeqlens = call.cu_seqlens;
  return {};
}

Status convert(const DecantDenseCall *given, DenseCall &result) {
  DecantDenseCall call;
  DECANT_TRY(readSized("call", given, call));
  if (call.type != DECANT_F32 && call.type != DECANT_BF16)
    return Status::invalid(fmt::format(
        "argument \"type\" is {}; DECANT_F32 ({}) and DECANT_BF16 ({}) are "
        "allowed",
        call.type, int(DECANT_F32), int(DECANT_BF16)));
  result.pool = convert(call.pool);
  result.rows = convert(call.rows);
  result.dense = call.dense;
  result.type = call.type == DECANT_F32 ? ElementType::F32 : ElementType::BF16;
  result.order = call.value_major ? DenseOrder::ValueKey : DenseOrder::KeyValue;
  result.rowStride = call.row_stride;
  result.headStride = call.head_stride;
  result.stream = call.stream;
  return {};
}

DecantType typeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return DECANT_F32;
  case ElementType::F16:
    return DECANT_F16;
  case ElementType::BF16:
    return DECANT_BF16;
  case ElementType::I8:
    return DECANT_INT8;
  default: // narrower integers are inside slots only; no argument has one
    return DECANT_F32;
  }
}

DecantPadPolicy policyOf(PadPolicy pad) {
  switch (pad) {
  case PadPolicy::None:
    return DECANT_PAD_NONE;
  case PadPolicy::Negative:
    return DECANT_PAD_NEGATIVE;
  case PadPolicy::NonPositive:
    return DECANT_PAD_NON_POSITIVE;
  }
  return DECANT_PAD_NONE;
}

} // namespace

extern "C" {

DecantStatus decantProgramCreate(const DecantDevice *device,
                                 const DecantImage *decode,
                                 const DecantImage *transfer,
                                 DecantProgram **program) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    *program = nullptr;
    if (!device)
      return nullArgument("device");
    if (!decode)
      return nullArgument("decode");
    std::optional<KernelImage> second;
    if (transfer)
      second = *transfer->image;
    DECANT_ASSIGN(auto made, Program::create(device->device, *decode->image,
                                             std::move(second)));
    *program = new DecantProgram{std::move(made)};
    return {};
  });
}

DecantStatus decantProgramCreateBatched(
    const DecantDevice *device, const DecantImage *const *decode,
    size_t decode_count, const DecantBatchRule *rules, size_t rule_count,
    const DecantImage *transfer, DecantProgram **program) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    *program = nullptr;
    if (!device)
      return nullArgument("device");
    if (!decode)
      return nullArgument("decode");
    if (!rules)
      return nullArgument("rules");
    ProgramImages images;
    for (size_t i = 0; i < decode_count; ++i) {
      if (!decode[i])
        return nullArgument(fmt::format("decode[{}]", i).c_str());
      images.decode.push_back(*decode[i]->image);
    }
    images.rules.clear();
    for (size_t i = 0; i < rule_count; ++i)
      images.rules.push_back(convert(rules[i]));
    if (transfer)
      images.transfer = *transfer->image;
    DECANT_ASSIGN(auto made,
                  Program::create(device->device, std::move(images)));
    *program = new DecantProgram{std::move(made)};
    return {};
  });
}

void decantProgramDestroy(DecantProgram *program) { delete program; }

DecantStatus decantProgramQuery(const DecantProgram *program,
                                DecantProgramInfo *info) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    const ProgramInfo &facts = program->program->info();
    DecantProgramInfo values = {};
    values.spec_name = facts.specName.c_str();
    values.target = facts.target.c_str();
    values.slot_bytes = facts.slotBytes;
    values.slot_align = facts.slotAlign;
    values.head_bytes = facts.headBytes;
    values.heads = facts.heads;
    values.key_dim = facts.keyDim;
    values.value_dim = facts.valueDim;
    values.window = facts.window;
    values.compensators = facts.compensators;
    values.pad_policy = policyOf(facts.pad);
    values.state_bytes_per_head = facts.stateBytesPerHead;
    values.bits_per_element = facts.bitsPerElement;
    values.max_rows = facts.maxRows;
    values.step_argument_count =
        int32_t(program->program->stepArguments().size());
    values.can_transfer = facts.canTransfer;
    values.tokens_per_step = facts.tokensPerStep;
    values.variant_count = program->program->variantCount();
    return writeSized("info", values, info);
  });
}

DecantStatus decantProgramGetArgument(const DecantProgram *program,
                                      int32_t index, DecantArgumentInfo *info) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    const std::vector<KernelArg> &args = program->program->stepArguments();
    if (index < 0 || size_t(index) >= args.size())
      return Status::invalid(
          fmt::format("argument \"index\" is {}; 0 to {} are allowed", index,
                      args.size() - 1));
    const KernelArg &arg = args[size_t(index)];
    DecantArgumentInfo values = {};
    values.name = arg.name.c_str();
    values.is_pointer = arg.kind == ArgKind::Pointer;
    // Slot numbers and offsets are arrays of int32, which states never are.
    values.type = arg.name == "slots" || arg.name == "cu_seqlens"
                      ? DECANT_INT32
                      : typeOf(arg.type);
    values.writable = arg.writable;
    values.align = arg.align;
    values.row_width = arg.rowWidth;
    return writeSized("info", values, info);
  });
}

DecantStatus decantProgramSupported(const DecantProgram *program,
                                    const DecantStepCall *call) {
  return guarded([&]() -> Status {
    ExtraInputs extra;
    StepCall converted;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(convert(call, extra, converted));
    return program->program->supported(converted);
  });
}

DecantStatus decantProgramStep(const DecantProgram *program,
                               const DecantStepCall *call) {
  return guarded([&]() -> Status {
    ExtraInputs extra;
    StepCall converted;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(convert(call, extra, converted));
    return program->program->step(converted);
  });
}

DecantStatus decantProgramCommit(const DecantProgram *program,
                                 const DecantCommitCall *given) {
  return guarded([&]() -> Status {
    DecantCommitCall call;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(readSized("call", given, call));
    return program->program->commit(
        {convert(call.pool), convert(call.rows), call.accepted, call.stream});
  });
}

DecantStatus decantProgramFlush(const DecantProgram *program,
                                const DecantFlushCall *given) {
  return guarded([&]() -> Status {
    DecantFlushCall call;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(readSized("call", given, call));
    return program->program->flush(
        {convert(call.pool), convert(call.rows), call.stream});
  });
}

DecantStatus decantProgramPack(const DecantProgram *program,
                               const DecantDenseCall *call) {
  return guarded([&]() -> Status {
    DenseCall converted;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(convert(call, converted));
    return program->program->pack(converted);
  });
}

DecantStatus decantProgramUnpack(const DecantProgram *program,
                                 const DecantDenseCall *call) {
  return guarded([&]() -> Status {
    DenseCall converted;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(convert(call, converted));
    return program->program->unpack(converted);
  });
}

DecantStatus decantProgramZero(const DecantProgram *program,
                               const DecantZeroCall *given) {
  return guarded([&]() -> Status {
    DecantZeroCall call;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(readSized("call", given, call));
    return program->program->zero(
        {convert(call.pool), call.slots, call.count, call.stream, call.seeds});
  });
}

DecantStatus decantProgramCopy(const DecantProgram *program,
                               const DecantCopyCall *given) {
  return guarded([&]() -> Status {
    DecantCopyCall call;
    if (!program)
      return nullArgument("program");
    DECANT_TRY(readSized("call", given, call));
    return program->program->copy({convert(call.from), convert(call.to),
                                   call.sources, call.targets, call.count,
                                   call.stream});
  });
}

DecantStatus decantProgramCheckSlots(const DecantProgram *program,
                                     const int32_t *slots, int64_t rows,
                                     int64_t slots_stride, int64_t slot_count) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    return program->program->checkSlots(slots, rows, slots_stride, slot_count);
  });
}

DecantStatus decantProgramCheckTokens(const DecantProgram *program,
                                      const int32_t *cu_seqlens,
                                      const int32_t *accepted, int64_t rows) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    return program->program->checkTokens(cu_seqlens, accepted, rows);
  });
}

} // extern "C"
