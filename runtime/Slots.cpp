//===- Slots.cpp - work on whole slots ------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Zero and copy need no kernel: a slot is its bytes.
//
//===----------------------------------------------------------------------===//

#include "Slots.h"

#include "ArgTable.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;

namespace {

/// The place of a number that stands twice, or -1.
int64_t findRepeated(const int32_t *slots, int64_t count) {
  std::vector<int32_t> sorted(slots, slots + count);
  std::sort(sorted.begin(), sorted.end());
  auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin == sorted.end())
    return -1;
  return std::find(slots, slots + count, *twin) - slots;
}

bool isPadding(PadPolicy pad, int32_t slot) {
  switch (pad) {
  case PadPolicy::None:
    return false;
  case PadPolicy::Negative:
    return slot < 0;
  case PadPolicy::NonPositive:
    return slot <= 0;
  }
  return false;
}

} // namespace

Status decant::resolvePool(const ProgramInfo &program, const char *prefix,
                           SlotPool &pool) {
  auto name = [&](const char *field) { return std::string(prefix) + field; };
  if (!pool.base)
    return Status::invalid(
        fmt::format("argument \"{}\" is null", name("state")));
  if (reinterpret_cast<uintptr_t>(pool.base) % program.slotAlign != 0)
    return checkAligned(name("state").c_str(), pool.base, program.slotAlign);
  if (pool.strideBytes == 0)
    pool.strideBytes = program.slotBytes;
  if (pool.strideBytes < program.slotBytes ||
      pool.strideBytes % program.slotAlign != 0)
    return Status::invalid(fmt::format(
        "argument \"{}\" is {} bytes; it must be a multiple of {} and at least "
        "the {} bytes of a slot",
        name("slot_stride_bytes"), pool.strideBytes, program.slotAlign,
        program.slotBytes));
  int64_t end = 0;
  if (pool.count < 0 ||
      __builtin_mul_overflow(pool.count, pool.strideBytes, &end))
    return Status::invalid(
        fmt::format("argument \"{}\" is {}; 0 (unknown) or more, within 2^63 "
                    "bytes for slots {} bytes apart",
                    name("slot_count"), pool.count, pool.strideBytes));
  return {};
}

Status decant::checkHostSlots(const char *name, const int32_t *slots,
                              int64_t count, const SlotPool &pool) {
  if (count <= 0)
    return Status::invalid(
        fmt::format("argument \"count\" is {}; 1 or more", count));
  if (!slots)
    return Status::invalid(fmt::format("argument \"{}\" is null", name));
  for (int64_t i = 0; i < count; ++i)
    if (slots[i] < 0 || (pool.count > 0 && slots[i] >= pool.count))
      return Status::invalid(fmt::format(
          "argument \"{}\": slot {} at place {}; {} are allowed, and padding "
          "numbers have no meaning here",
          name, slots[i], i,
          pool.count > 0 ? fmt::format("0 to {}", pool.count - 1)
                         : std::string("numbers from 0")));
  return {};
}

Status Program::zero(const ZeroCall &call) const {
  SlotPool pool = call.pool;
  Status checked = resolvePool(facts, "", pool);
  if (checked.ok())
    checked = checkHostSlots("slots", call.slots, call.count, pool);
  if (!checked.ok())
    return checked.within(fmt::format("zero of \"{}\"", facts.specName));
  for (int64_t i = 0; i < call.count; ++i) {
    char *slot = slotAddress(pool, call.slots[i]);
    DECANT_TRY(target->fill(slot, 0, facts.slotBytes, call.stream));
    // Byte by byte, which needs no host memory that outlives the call.
    const uint32_t seed = call.seeds ? call.seeds[i] : 0;
    for (int byte = 0; byte < 4; ++byte)
      if (const uint8_t value = uint8_t(seed >> (8 * byte)))
        DECANT_TRY(
            target->fill(slot + 4 * kSeedWord + byte, value, 1, call.stream));
  }
  return {};
}

Status Program::copy(const CopyCall &call) const {
  SlotPool from = call.from, to = call.to;
  Status checked = resolvePool(facts, "from.", from);
  if (checked.ok())
    checked = resolvePool(facts, "to.", to);
  if (checked.ok())
    checked = checkHostSlots("sources", call.sources, call.count, from);
  if (checked.ok())
    checked = checkHostSlots("targets", call.targets, call.count, to);
  if (checked.ok())
    if (int64_t at = findRepeated(call.targets, call.count); at >= 0)
      checked = Status::invalid(fmt::format(
          "argument \"targets\": slot {} stands twice, first at place {}; each "
          "target is written once",
          call.targets[at], at));
  if (!checked.ok())
    return checked.within(fmt::format("copy of \"{}\"", facts.specName));
  for (int64_t i = 0; i < call.count; ++i) {
    const char *source = slotAddress(from, call.sources[i]);
    char *destination = slotAddress(to, call.targets[i]);
    if (source != destination)
      DECANT_TRY(target->copyOnDevice(destination, source, facts.slotBytes,
                                      call.stream));
  }
  return {};
}

Status Program::checkTokens(const int32_t *cuSeqlens, const int32_t *accepted,
                            int64_t rows) const {
  const std::string where = fmt::format("tokens of \"{}\"", facts.specName);
  if (facts.tokensPerStep == 1)
    return Status::invalid(
        where + ": tokens_per_step is 1, and a step takes no cu_seqlens");
  if (rows < 0 || (rows > 0 && !cuSeqlens))
    return Status::invalid(fmt::format(
        "{}: rows is {}, cu_seqlens is {}; rows is 0 or more, and cu_seqlens "
        "is not null",
        where, rows, cuSeqlens ? "given" : "null"));
  if (rows > 0 && cuSeqlens[0] < 0)
    return Status::invalid(
        fmt::format("{}: cu_seqlens[0] is {}; 0 or more", where, cuSeqlens[0]));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = int64_t(cuSeqlens[row + 1]) - cuSeqlens[row];
    if (count < 0 || count > facts.tokensPerStep)
      return Status::invalid(fmt::format(
          "{}: row {} has {} tokens (cu_seqlens {} to {}); 0 to {} are allowed",
          where, row, count, cuSeqlens[row], cuSeqlens[row + 1],
          facts.tokensPerStep));
    if (accepted && (accepted[row] < 0 || accepted[row] > count))
      return Status::invalid(fmt::format(
          "{}: accepted[{}] is {}; 0 to {} are allowed, the tokens of the row",
          where, row, accepted[row], count));
  }
  return {};
}

Status Program::checkSlots(const int32_t *slots, int64_t rows, int64_t stride,
                           int64_t slotCount) const {
  std::string where = fmt::format("slots of \"{}\"", facts.specName);
  if (stride == 0)
    stride = 1;
  if (rows < 0 || stride < 0 || (rows > 0 && !slots))
    return Status::invalid(fmt::format(
        "{}: rows is {}, slots_stride is {}, slots is {}; both numbers are 0 "
        "or more, and slots is not null",
        where, rows, stride, slots ? "given" : "null"));
  std::vector<std::pair<int32_t, int64_t>> used; // slot, row
  for (int64_t row = 0; row < rows; ++row) {
    int32_t slot = slots[row * stride];
    if (isPadding(facts.pad, slot))
      continue;
    if (slot < 0 || slot >= slotCount)
      return Status::invalid(fmt::format(
          "{}: row {} has slot {}; the pool has slots 0 to {}, and the pad "
          "policy is {}",
          where, row, slot, slotCount - 1, toString(facts.pad)));
    used.emplace_back(slot, row);
  }
  std::sort(used.begin(), used.end());
  for (size_t i = 1; i < used.size(); ++i)
    if (used[i].first == used[i - 1].first)
      return Status::invalid(fmt::format(
          "{}: rows {} and {} share slot {}; each slot belongs to one row",
          where, used[i - 1].second, used[i].second, used[i].first));
  return {};
}
