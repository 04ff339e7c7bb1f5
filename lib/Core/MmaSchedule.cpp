//===- MmaSchedule.cpp - schedules of tensor cores ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleParts.h"
#include "decant/Core/CodeStore.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;

namespace {

/// Keys of one lane when 32 lanes share the axis: a power of two.
int mmaKeysPerLane(const SlotLayout &layout) {
  int keys = 1;
  while (keys * kWarp < layout.paddedKey)
    keys *= 2;
  return keys;
}

bool refits(const SlotLayout &layout) {
  return fitsAs(layout, {ScaleFit::LeastSquares});
}

/// Compensators whose Gram matrix takes no more registers than other work.
constexpr int kFew = 4;

/// What the step takes of shared memory, to within a KiB: panels of terms and
/// of their decays, and beside them what a read works on or, in the same
/// place, a fold.
int mmaSharedBytes(const Schedule &schedule, const SlotLayout &layout) {
  constexpr int kPad = 16, kTerms = 8, kHalf = 2, kOfDriver = 1024;
  constexpr int kColumnsTogether = 8;
  const int keys = layout.paddedKey, dims = keys + layout.paddedValue;
  const int terms =
      layout.window * layout.record.writes + 2 * layout.compensators;
  int panels = (terms + kTerms - 1) / kTerms * kTerms * (dims + kPad) * kHalf;
  int decays = 0;
  if (layout.record.keyDecay == DecayShape::Vector) {
    panels += int(layout.totalKeyDecay.bytes());
    decays = int(layout.recordKeyDecay.bytes());
  }
  const bool staged = schedule.fetch != CodeFetch::Registers;
  if (staged)
    panels += int(layout.codes.bytes());
  // Operands as two parts and scores of all warps; results of two vectors,
  // which may lie where decays were.
  const bool wide = layout.codes.type == ElementType::F32; // results in parts
  const int read = 16 * keys + 1024 +
                   std::max(decays, (wide ? 40 : 16) * layout.paddedValue);
  if (wide && decays > 0) { // a fold has the rests of keys, but no codes
    const int rests = (terms + kTerms - 1) / kTerms * kTerms * (keys + kTerms);
    const int codes = staged ? int(layout.codes.bytes()) : 0;
    return panels + std::max(read, decays + rests * kHalf - codes) + kOfDriver;
  }
  if (wide)
    return panels + read + kOfDriver;
  // Columns and their two forms, scores of all warps, as far as they are not
  // where new terms will be, lines of scales.
  const int columns = std::min(layout.compensators, kColumnsTogether);
  const int longest = std::max(keys, layout.paddedValue);
  int held = layout.compensators;
  if (held > kColumnsTogether)
    held = (held + kColumnsTogether - 1) / kColumnsTogether * kColumnsTogether;
  const int before = terms - layout.compensators;
  const int products =
      std::min((before + kTerms - 1) / kTerms, kProductsTogether);
  const int each = columns * 4 * kTerms * schedule.valueLanes;
  const int unused =
      std::max(0, terms - products * kTerms) * (keys + kTerms) * kHalf;
  const int scores =
      each > 0 ? std::max(0, products - unused / each) * each : 0;
  const int fit = 4 * longest * held + columns * 4 * (longest + 8) + scores +
                  4 * dims + 8 * layout.compensators + 256;
  // Lines, diagonals of scales; residuals that wait for their scale have the
  // memory of codes where that is shared.
  const int waiting = staged ? 0 : keys / 32 * schedule.threads() * 16;
  const int encode = 8 * dims + 8 * keys + waiting;
  return panels + std::max({read, decays, fit, encode}) + kOfDriver;
}

/// Heads of 128 keys and 64 values, Mamba2's, whose blocks have two warps and
/// small reads. Measured on an H200 with int8 codes and one decay per head: ten
/// blocks an SM that load codes into registers, 96 a thread, take 3.60, 8.73,
/// 56.2 and 185 us at batches of 1, 8, 128 and 512, and five that copy them to
/// shared memory, as heads of 128 x 128 do, 3.77, 10.5, 64.9 and 234.
bool isNarrow(const SlotLayout &layout, const TargetInfo &target) {
  return target.computeMajor == kTimedMajor && layout.keyDim == 128 &&
         layout.valueDim == 64 && layout.window > 1 &&
         layout.codes.type == ElementType::I8 && layout.rowBits.empty() &&
         layout.compensators <= kFew && layout.record.writes == 1 &&
         layout.record.keyDecay != DecayShape::Vector;
}

/// Of a thread, where codes are f32: it has as many of those on their way as
/// fit beside the rest, which is more under decays that are vectors, with long
/// keys and with more than 16 records.
int wideRegisters(const SlotLayout &layout, const TargetInfo &target) {
  constexpr int kUsual = 128, kWithVectors = 168, kMore = 32, kElsewhere = 16;
  constexpr int kUsualKeys = 128, kUsualRecords = 16;
  const bool vectors = layout.record.keyDecay == DecayShape::Vector;
  int registers = vectors ? kWithVectors : kUsual;
  const bool longKeys = layout.paddedKey > kUsualKeys;
  if (longKeys || layout.window * layout.record.writes > kUsualRecords)
    registers += kMore;
  if (longKeys && target.computeMajor != kTimedMajor)
    registers += kElsewhere;
  return registers;
}

/// Many blocks keep many loads in flight; a thread needs registers for the
/// codes that it has in flight itself and for what folds and decays take.
int mmaBlocksPerSm(const Schedule &schedule, const SlotLayout &layout,
                   const TargetInfo &target) {
  constexpr int kRegistersOfSm = 65536, kLeast = 80, kBase = 48, kMore = 16;
  constexpr int kMostForCodes = 64;
  // More blocks than their memory fits would bind registers for nothing.
  const int fit =
      std::max(1, target.maxSharedBytes / mmaSharedBytes(schedule, layout));
  if (layout.codes.type == ElementType::F32)
    return std::clamp(kRegistersOfSm /
                          (schedule.threads() * wideRegisters(layout, target)),
                      1, fit);
  const int codes = layout.paddedKey * schedule.valuesPerLane / kWarp *
                    elementBits(layout.codes.type) / 32;
  const bool staged = schedule.fetch != CodeFetch::Registers;
  int registers = kBase + (staged ? 0 : std::min(codes, kMostForCodes));
  if (layout.record.keyDecay == DecayShape::Vector)
    registers += (layout.compensators > kFew ? 3 : 2) * kMore;
  if (layout.window == 1) // the step's own values are alive through the fold
    registers += (elementBits(layout.codes.type) < 8 ? 3 : 2) * kMore;
  if (refits(layout)) // its sums, of two kinds
    registers += 2 * kMore;
  if (layout.compensators > kFew && !staged) // their Gram matrix
    registers = std::max(registers, kBase + 4 * kMore);
  // Two planes, and a fold's sums over all tiles of a chunk.
  const bool planes = codePlanes(layout).size() > 1;
  if (planes)
    registers = std::max(registers, kLeast) +
                (elementBits(layout.codes.type) < 4 ? 2 : 1) * kMore;
  // Measured for 128 x 128, codes in shared memory of 64 x 64 and in registers
  // of 128 x 64, which take a step more. Whatever is uneven takes more, and
  // registers go to warps in steps.
  constexpr int kUsual = 128, kManyWarps = 8;
  const int warps = schedule.valueLanes;
  const bool halved =
      staged && layout.keyDim == kUsual / 2 && layout.valueDim == kUsual / 2;
  if (!staged && isNarrow(layout, target))
    registers = std::max(registers, kLeast) + kMore;
  else if (!halved && (layout.keyDim != kUsual || layout.valueDim != kUsual))
    registers = std::max(registers, kLeast) + 3 * kMore;
  if (layout.paddedKey > kUsual)
    registers += 2 * kMore;
  if (!isPowerOfTwo(warps) || warps >= kManyWarps)
    registers += 2 * kMore;
  if (layout.compensators > kFew && warps == 1)
    registers += 4 * kMore;
  // Elsewhere the assembler needs a few more.
  if (target.computeMajor != kTimedMajor)
    registers += layout.window == 1 ? 4 * kMore : kMore;
  return std::clamp(kRegistersOfSm /
                        (schedule.threads() * std::max(registers, kLeast)),
                    1, fit);
}

/// What keeps strategy mma from `layout` whatever the schedule's numbers are.
std::string whyNoTiles(const SlotLayout &layout) {
  if (layout.codeOrder != CodeOrder::Fragments)
    return "strategy mma needs codes in the order of fragments";
  if (!layout.rowBits.empty() && !fillsSlabs(layout))
    return fmt::format("strategy mma needs the key rows of each width of a "
                       "head in multiples of {}, which the plan has not",
                       kSlabRows);
  if (!layout.rowBits.empty() && layout.window == 1)
    return "strategy mma has rows that differ in bits in windows only";
  const ElementType codes = layout.codes.type;
  if (codes == ElementType::F32 && layout.window == 1)
    return "strategy mma has f32 codes in windows only";
  if (codes == ElementType::F32 &&
      (layout.compensators > 0 || !layout.scales.empty()))
    return "strategy mma has f32 codes without compensators and scales";
  if (!isInteger(codes) && !isWideFloat(codes))
    return fmt::format("strategy mma has no fragments of {} codes",
                       toString(codes));
  if (layout.rotation != Rotation::None)
    return "strategy mma has no rotations";
  if (layout.rounding != Rounding::Nearest)
    return "strategy mma rounds to the nearest code";
  for (const ScaleSpec &scale : layout.scales)
    if (scale.fit == ScaleFit::RootMeanSquare)
      return fmt::format("strategy mma has no fit {}", toString(scale.fit));
    else if (scale.fit == ScaleFit::LeastSquares && scale.axis != Axis::Value)
      return fmt::format("strategy mma refits scales of value columns; one is "
                         "of axis {}",
                         toString(scale.axis));
    else if (isGrouped(scale) || scale.axis == Axis::Head ||
             !isWideFloat(scale.type))
      return fmt::format("strategy mma has scales of f32, f16 or bf16 for key "
                         "rows and value columns; one is {} of axis {}{}",
                         toString(scale.type), toString(scale.axis),
                         isGrouped(scale) ? ", in groups" : "");
  if (layout.record.valueDecay != DecayShape::None)
    return "strategy mma has no decays along the value axis";
  if (layout.compensators > 0 && layout.compKeys.type == ElementType::BF16)
    return "strategy mma has compensators of f16, int8 or e4m3; they are bf16";
  if (layout.window == 1)
    return {};
  const ElementType records = layout.recordKeys.type;
  const bool halves =
      records == ElementType::F16 ||
      (records == ElementType::BF16 && layout.compensators == 0);
  if (!halves)
    return fmt::format("strategy mma needs records of f16, or of bf16 without "
                       "compensators, which are f16; they are {}",
                       toString(records));
  return {};
}

} // namespace

std::string decant::whyNotMma(const Schedule &schedule,
                              const SlotLayout &layout) {
  if (std::string why = whyNoTiles(layout); !why.empty())
    return why;
  if (schedule.keyLanes != kWarp ||
      schedule.keysPerLane != mmaKeysPerLane(layout))
    return fmt::format("key_lanes x keys_per_lane is {} x {}; strategy mma "
                       "needs {} x {}",
                       schedule.keyLanes, schedule.keysPerLane, kWarp,
                       mmaKeysPerLane(layout));
  const int values = schedule.valuesPerLane;
  if (values != 16 && values != 32 && values != 64)
    return fmt::format("values_per_lane is {}; a warp of strategy mma owns 16, "
                       "32 or 64 values",
                       values);
  if (schedule.valueLanes * values != layout.paddedValue)
    return fmt::format("value_lanes x values_per_lane is {}; the padded value "
                       "dim is {}",
                       schedule.valueLanes * values, layout.paddedValue);
  if (!layout.rowBits.empty() && schedule.fetch == CodeFetch::Registers)
    return "fetch is registers; rows that differ in bits are shared or bulk";
  // Copies are of 16 bytes, a lane's part of one row of tiles or of several;
  // those of planes and slabs are of whatever follows one another.
  if (const int bits = elementBits(layout.codes.type);
      schedule.fetch != CodeFetch::Registers && layout.rowBits.empty() &&
      codePlanes(layout).size() == 1 &&
      layout.paddedKey % (16 * 16 / bits) != 0)
    return fmt::format("fetch is {} and the padded key dim {}; a multiple "
                       "of {} is needed for codes of {} bits",
                       toString(schedule.fetch), layout.paddedKey,
                       16 * 16 / bits, bits);
  return {};
}

/// How codes get into shared memory, which is near when a fold reads them
/// again: by bulk copies, which take neither registers nor instructions.
/// Measured on sm_90: those gain 4 % (int8), 6 % (int4) and 2 % (decays that
/// are vectors). What several tokens read may have been written by the block
/// itself.
static CodeFetch stagedFetch(const SlotLayout &layout,
                             const TargetInfo &target) {
  return layout.tokensPerStep == 1 && target.has(Feature::BulkCopy)
             ? CodeFetch::Bulk
             : CodeFetch::Shared;
}

/// Measured on an H200 with `decant bench` at batches of 64, 128, 256 and 512:
/// 32 heads of 128 x 128 gain 6, 9, 3 and 1 % (int8) and -2, 5, 3 and 1 %
/// (int4), the last ones at the card's power limit; without it 7 %. Heads of 64
/// x 64 gain 7 % at 128. Codes of f32, whose folds are short, and Mamba2's
/// heads gain nothing; decays that are vectors lose 2 % from 256 on, where
/// addresses take more instructions than without, and 256 x 256 as much.
static int exchangedBlocks(const SlotLayout &layout, const TargetInfo &target) {
  constexpr int kMostElements = 128 * 128;
  const bool gains = layout.codes.type != ElementType::F32 &&
                     layout.record.keyDecay != DecayShape::Vector &&
                     layout.paddedKey * layout.paddedValue <= kMostElements &&
                     !isNarrow(layout, target);
  return gains && target.computeMajor == kTimedMajor && canExchange(layout) &&
                 2 * layout.valueHeads <= kExchangedBlocks
             ? kExchangedBlocks
             : 0;
}

std::optional<Schedule> decant::mmaSchedule(const SlotLayout &layout,
                                            const TargetInfo &target) {
  if (target.kind == TargetKind::Cpu || !whyNoTiles(layout).empty())
    return std::nullopt;
  // A lane's part of the codes fills its registers together with vector decays
  // or with what joins planes.
  constexpr int kMostWithMore = 128 * 256;
  if ((layout.record.keyDecay == DecayShape::Vector ||
       codePlanes(layout).size() > 1) &&
      layout.paddedKey * layout.paddedValue > kMostWithMore)
    return std::nullopt;
  Schedule schedule;
  schedule.strategy = Strategy::Mma;
  schedule.keyLanes = kWarp;
  schedule.keysPerLane = mmaKeysPerLane(layout);
  schedule.rows = RowLoop::Unrolled;
  schedule.boundary = layout.window > 1 ? Boundary::Step : Boundary::Apart;
  for (int values : {32, 16, 64}) {
    if (layout.paddedValue % values != 0)
      continue;
    schedule.valuesPerLane = values;
    schedule.valueLanes = layout.paddedValue / values;
    schedule.fetch = CodeFetch::Registers;
    if (!layout.rowBits.empty())
      schedule.fetch = stagedFetch(layout, target);
    else if (layout.window > 1 && isInteger(layout.codes.type) &&
             !isNarrow(layout, target) &&
             target.maxSharedBytes >= kHopperShared) {
      Schedule staged = schedule;
      staged.fetch = stagedFetch(layout, target);
      if (check(staged, layout, target).ok() &&
          mmaSharedBytes(staged, layout) <= target.maxSharedBytes)
        schedule = staged;
    }
    // A long window with many compensators may need more than a block has.
    if (mmaSharedBytes(schedule, layout) > target.maxSharedBytes)
      continue;
    schedule.blocksPerSm = mmaBlocksPerSm(schedule, layout, target);
    schedule.exchange = exchangedBlocks(layout, target);
    if (check(schedule, layout, target).ok())
      return schedule;
  }
  return std::nullopt;
}
