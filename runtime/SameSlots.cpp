//===- SameSlots.cpp - may two images share slots -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SameSlots.h"

#include <fmt/format.h>

using namespace decant;

namespace {

bool sameRegion(const Region &a, const Region &b) {
  return a.offset == b.offset && a.type == b.type && a.count == b.count &&
         a.width == b.width;
}

bool sameScales(const SlotLayout &a, const SlotLayout &b) {
  if (a.scales.size() != b.scales.size())
    return false;
  for (size_t i = 0; i < a.scales.size(); ++i)
    if (a.scales[i].axis != b.scales[i].axis ||
        a.scales[i].fit != b.scales[i].fit ||
        a.scales[i].type != b.scales[i].type ||
        a.scales[i].block != b.scales[i].block)
      return false;
  return true;
}

/// What differs in meaning between two layouts, empty for nothing.
std::string differenceOf(const SlotLayout &decode, const SlotLayout &other) {
  const SlotLayout &a = decode, &b = other;
  if (a.valueHeads != b.valueHeads || a.keyDim != b.keyDim ||
      a.valueDim != b.valueDim)
    return fmt::format("{} heads of {} x {}, and {} of {} x {}", b.valueHeads,
                       b.keyDim, b.valueDim, a.valueHeads, a.keyDim,
                       a.valueDim);
  struct Number {
    const char *what;
    int64_t found, wanted;
  };
  for (const Number &number :
       {Number{"tokens per step", b.tokensPerStep, a.tokensPerStep},
        Number{"tokens in a window", b.window, a.window},
        Number{"compensators", b.compensators, a.compensators},
        Number{"rounds of compensators", b.compensatorRounds,
               a.compensatorRounds},
        Number{"writes per token", b.record.writes, a.record.writes},
        Number{"carried vectors", b.record.carried, a.record.carried}})
    if (number.found != number.wanted)
      return fmt::format("{} {}, and {}", number.found, number.what,
                         number.wanted);
  if (a.slotBytes != b.slotBytes || a.headBytes != b.headBytes)
    return fmt::format("slots of {} bytes, and {}", b.slotBytes, a.slotBytes);
  if (a.codeOrder != b.codeOrder)
    return fmt::format("codes in the order {}, and {}", toString(b.codeOrder),
                       toString(a.codeOrder));
  auto left = a.regions(), right = b.regions();
  for (size_t i = 0; i < left.size(); ++i)
    if (!sameRegion(left[i].second, right[i].second))
      return fmt::format("region {} differs", left[i].first);
  if (!sameScales(a, b))
    return "scales differ";
  if (a.rowBits != b.rowBits)
    return "the bits of key rows differ";
  if (a.rotation != b.rotation)
    return fmt::format("rotation {}, and {}", toString(b.rotation),
                       toString(a.rotation));
  if (a.rotationBlock != b.rotationBlock)
    return fmt::format("rotations of {} elements, and {}", b.rotationBlock,
                       a.rotationBlock);
  if (a.tables.weights != b.tables.weights ||
      a.tables.levels != b.tables.levels || a.tables.scales != b.tables.scales)
    return "the numbers of their plans differ";
  if (a.rounding != b.rounding)
    return fmt::format("rounding {}, and {}", toString(b.rounding),
                       toString(a.rounding));
  return {};
}

Status refuse(const KernelImage &decode, const KernelImage &other,
              const std::string &otherIs, const std::string &what) {
  return Status::invalid(fmt::format(
      "{} \"{}\" does not fit decode image \"{}\": {}; both must be compiled "
      "from one spec",
      otherIs, other.specName, decode.specName, what));
}

} // namespace

Status decant::checkSameSlots(const KernelImage &decode,
                              const KernelImage &other,
                              const std::string &otherIs) {
  if (const std::string what = differenceOf(decode.layout, other.layout);
      !what.empty())
    return refuse(decode, other, otherIs, what);
  if (decode.pad != other.pad)
    return refuse(decode, other, otherIs,
                  fmt::format("pad policy {}, and {}", toString(other.pad),
                              toString(decode.pad)));
  return {};
}

Status decant::checkSameStep(const KernelImage &decode,
                             const KernelImage &other,
                             const std::string &otherIs) {
  DECANT_TRY(checkSameSlots(decode, other, otherIs));
  if (decode.specText != other.specText)
    return refuse(decode, other, otherIs, "the specs' texts differ");
  const KernelEntry *left = decode.find("step"), *right = other.find("step");
  if (!left || !right)
    return refuse(decode, other, otherIs, "one has no entry \"step\"");
  if (left->args.size() != right->args.size())
    return refuse(decode, other, otherIs,
                  fmt::format("a step of {} arguments, and of {}",
                              right->args.size(), left->args.size()));
  for (size_t i = 0; i < left->args.size(); ++i) {
    const KernelArg &a = left->args[i], &b = right->args[i];
    if (a.name != b.name || a.kind != b.kind || a.type != b.type ||
        a.writable != b.writable || a.rowWidth != b.rowWidth)
      return refuse(decode, other, otherIs,
                    fmt::format("argument {} of the step is \"{}\", and \"{}\""
                                " or another type or width",
                                i, b.name, a.name));
  }
  return {};
}
