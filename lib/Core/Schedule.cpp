//===- Schedule.cpp - legality and defaults of schedules ------------------===//
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

constexpr int kMaxLoadBytes =
    16; // widest load of a lane before sm_100, PTX ISA
/// Key vectors (q, k, decays, the folded operands) live in registers, about
/// eight at a time: 16 elements each are 128 registers.
constexpr int kMaxUnrolledRows = 16;
constexpr int kFewValues = 8;
/// Elements of a lane's part of a state that the step holds, an f32 register
/// each: the most that fit beside everything else, and the default, which
/// leaves room on an SM for as many lanes as it takes to keep 30 KB of loads in
/// flight.
constexpr int kMaxHeldElements = 128;
constexpr int kHeldElements = 64;
constexpr int kTightThreads = 128;
/// In columns, where a block is a warp: elements of a lane, and warps of an SM,
/// which leaves 80 registers, or 96 for decays that are vectors and for lanes
/// without keys.
constexpr int kColumnElements = 32, kColumnWarps = 24, kFewColumnWarps = 20;
/// The same of halves: as many bytes in flight.
constexpr int kColumnHalves = 64, kColumnHalfWarps = 16;
/// Every block works out the decays of its keys.
constexpr int kKeysWithVectors = 4;
/// Keys of f32 that are one load: the parts of sums over keys.
constexpr int kHeldPart = 4;
/// Small blocks, so that one waits, one loads and one stores on every SM.
constexpr int kSmRegisters = 65536;
constexpr int kFewestBlocksOfAnSm = 16; // sm_86
/// Lanes beyond 16 along the key axis would leave a warp with one value lane,
/// that is 16 contiguous bytes: half a sector.
constexpr int kMaxKeyLanes = 16;
constexpr int kMinKeyLanes = 8; // padded dims are multiples of it

int narrowestPlane(const SlotLayout &layout) {
  if (!layout.rowBits.empty())
    return 1;
  int bits = elementBits(layout.codes.type);
  for (const CodePlane &plane : codePlanes(layout))
    bits = std::min(bits, plane.bits);
  return bits;
}

/// Codes that are the state itself and change with every token.
bool isState(const SlotLayout &layout) {
  return layout.window == 1 && layout.scales.empty() &&
         layout.compensators == 0 && elementBits(layout.codes.type) >= 16;
}

/// And lie as lanes can hold them.
bool isPlain(const SlotLayout &layout) {
  return isState(layout) && layout.codeOrder != CodeOrder::Fragments;
}

/// Whether key lanes cover the key axis; lanes that hold the state may reach
/// beyond it, each as a whole.
bool coversKeys(const Schedule &schedule, const SlotLayout &layout) {
  const int keys = schedule.keyLanes * schedule.keysPerLane;
  if (keys == layout.paddedKey)
    return true;
  return layout.codeOrder == CodeOrder::Columns &&
         holdsState(schedule, layout) && keys > layout.paddedKey &&
         keys / 2 < layout.paddedKey &&
         layout.paddedKey % schedule.keysPerLane == 0;
}

/// Codes that a step takes from memory once, to put others in their place. Not
/// those for which that takes more registers than there are, or was slower on
/// an H200: levels, which are chosen from trees, refits beside rows of their
/// own bits, and two planes beside the extremes of groups or a rotation.
bool changesWithEveryToken(const SlotLayout &layout) {
  if (layout.window > 1 || layout.compensators > 0 ||
      layout.codeOrder != CodeOrder::Rows || isCodebook(layout.codes.type))
    return false;
  if (!layout.rowBits.empty())
    return !fitsAs(layout, {ScaleFit::LeastSquares, ScaleFit::KeptNorm});
  return codePlanes(layout).size() == 1 ||
         (layout.rotation == Rotation::None &&
          !fitsAs(layout, {ScaleFit::MinMax}));
}

/// Beside a held part of a state, where the assembler needs a few registers
/// more.
bool takesMore(const SlotLayout &layout, const TargetInfo &target) {
  return target.computeMajor > kTimedMajor &&
         (codePlanes(layout).size() > 1 || fitsAs(layout, {ScaleFit::MinMax}));
}

std::string whyNoExchange(const Schedule &schedule, const SlotLayout &layout) {
  if (schedule.exchange == 0)
    return {};
  if (!canExchange(layout) || schedule.strategy != Strategy::Mma ||
      schedule.boundary != Boundary::Step)
    return fmt::format(
        "exchange is {}; rows are exchanged with strategy mma and boundary "
        "step, at windows beyond 1, one token per step and up to {} heads",
        schedule.exchange, kExchangingHeads);
  if (schedule.exchange < 2 * layout.valueHeads)
    return fmt::format("exchange is {}; two rows of {} heads at least, or 0",
                       schedule.exchange, layout.valueHeads);
  return {};
}

} // namespace

bool decant::holdsState(const Schedule &schedule, const SlotLayout &layout) {
  const bool suits = isPlain(layout) || changesWithEveryToken(layout);
  return suits && schedule.strategy == Strategy::Simt &&
         schedule.rows == RowLoop::Unrolled &&
         schedule.keysPerLane * schedule.valuesPerLane <= kMaxHeldElements;
}

Status decant::check(const Schedule &schedule, const SlotLayout &layout,
                     const TargetInfo &target) {
  auto refuse = [&](const std::string &why) {
    return Status::invalid(
        fmt::format("schedule <{}>: {}", toString(schedule), why));
  };
  if (schedule.threads() > target.maxThreads)
    return refuse(fmt::format("{} threads; {} allows {} per block",
                              schedule.threads(), target.name,
                              target.maxThreads));
  if (schedule.launch == LaunchOrder::Dependent &&
      !target.has(Feature::DependentLaunch))
    return refuse(fmt::format("launch is dependent, which {} has not; it is "
                              "ordered",
                              target.name));
  if (schedule.fetch == CodeFetch::Bulk && target.kind != TargetKind::Cpu &&
      !target.has(Feature::BulkCopy))
    return refuse(fmt::format("fetch is bulk, which {} has not; it is "
                              "registers or shared",
                              target.name));
  if (std::string why = whyNoExchange(schedule, layout); !why.empty())
    return refuse(why);
  if (schedule.strategy == Strategy::Mma) {
    const std::string why = whyNotMma(schedule, layout);
    return why.empty() ? Status() : refuse(why);
  }
  if (!isPowerOfTwo(schedule.keyLanes) || schedule.keyLanes > kWarp)
    return refuse(fmt::format("key_lanes is {}; a power of two up to {} is "
                              "needed, since key lanes share a warp",
                              schedule.keyLanes, kWarp));
  if (!coversKeys(schedule, layout))
    return refuse(fmt::format("key_lanes x keys_per_lane is {}; the padded key "
                              "dim is {}",
                              schedule.keyLanes * schedule.keysPerLane,
                              layout.paddedKey));
  if (schedule.fetch != CodeFetch::Registers)
    return refuse(
        fmt::format("fetch is {}, which is strategy mma's; it is registers",
                    toString(schedule.fetch)));
  const int columns = schedule.valueLanes * schedule.valuesPerLane;
  if (columns * schedule.split != layout.paddedValue)
    return refuse(fmt::format("value_lanes x values_per_lane x split is {}; "
                              "the padded value dim is {}",
                              columns * schedule.split, layout.paddedValue));
  if (schedule.split > 1 && !isPlain(layout))
    return refuse(fmt::format("split is {}; blocks share a head only at window "
                              "1, with float codes, without scales and "
                              "compensators",
                              schedule.split));
  if (schedule.lanes == LaneOrder::ValueFirst &&
      (!isPowerOfTwo(schedule.valueLanes) || schedule.valueLanes > kWarp))
    return refuse(fmt::format("value_lanes is {}; a power of two up to {} is "
                              "needed for value_first, since value lanes share "
                              "a warp",
                              schedule.valueLanes, kWarp));
  // Lanes write whole bytes. In fragments, values 8 apart share one when codes
  // have up to 4 bits.
  const bool fragments = layout.codeOrder == CodeOrder::Fragments;
  const int bits = narrowestPlane(layout);
  if (const int values = fragments ? 16 : 8;
      bits < 8 && schedule.valuesPerLane % values != 0)
    return refuse(fmt::format("values_per_lane is {}; a multiple of {} is "
                              "needed, since {} codes share bytes",
                              schedule.valuesPerLane, values,
                              toString(layout.codes.type)));
  return {};
}

int decant::defaultKeyLanes(const SlotLayout &layout) {
  return layout.paddedKey % kMaxKeyLanes == 0 ? kMaxKeyLanes : kMinKeyLanes;
}

int decant::keysPerPart(const SlotLayout &layout) {
  return isState(layout)
             ? std::min(kHeldPart, layout.paddedKey / defaultKeyLanes(layout))
             : layout.paddedKey;
}

/// For a state in columns that the step holds: a lane has 16 bytes of each of
/// its columns, or 4 keys, and lanes of one warp have all keys of some, one run
/// of memory. A block is one warp, which waits for none. Sums over values need
/// all columns in one block.
static std::optional<Schedule> columnSchedule(const SlotLayout &layout,
                                              const TargetInfo &target,
                                              bool sumsOverValues) {
  if (!isPlain(layout))
    return std::nullopt;
  Schedule schedule;
  schedule.rows = RowLoop::Unrolled;
  schedule.keysPerLane = kMaxLoadBytes / elementBytes(layout.codes.type);
  const bool vectors = layout.record.keyDecay == DecayShape::Vector;
  if (vectors)
    schedule.keysPerLane = std::min(schedule.keysPerLane, kKeysWithVectors);
  while (schedule.keyLanes * schedule.keysPerLane < layout.paddedKey)
    (schedule.keyLanes < kWarp ? schedule.keyLanes : schedule.keysPerLane) *= 2;
  const bool beyond =
      schedule.keyLanes * schedule.keysPerLane > layout.paddedKey;
  const bool halves = elementBits(layout.codes.type) == 16 && !vectors &&
                      !beyond && !sumsOverValues;
  const int elements = halves ? kColumnHalves : kColumnElements;
  int values = kFewValues;
  while (schedule.keysPerLane * values > elements)
    values /= 2;
  schedule.valueLanes = kWarp / schedule.keyLanes;
  if (sumsOverValues) {
    while (values > 1 &&
           schedule.keyLanes * (layout.paddedValue / values) < kWarp)
      values /= 2;
    while (schedule.keyLanes * (layout.paddedValue / values) >
               target.maxThreads &&
           layout.paddedValue % (2 * values) == 0)
      values *= 2;
    schedule.valueLanes = layout.paddedValue / values;
  }
  while (values > 1 && layout.paddedValue % (schedule.valueLanes * values) != 0)
    values /= 2;
  schedule.valuesPerLane = values;
  schedule.split = layout.paddedValue / (schedule.valueLanes * values);
  if (schedule.keysPerLane * values > kHeldElements ||
      schedule.threads() > target.maxThreads)
    return std::nullopt;
  const int part = schedule.keysPerLane * values;
  const int warps = part > kColumnElements ? kColumnHalfWarps
                    : vectors || beyond    ? kFewColumnWarps
                                           : kColumnWarps;
  const int blocks = warps * kWarp / schedule.threads();
  if (part <= elements && !sumsOverValues)
    schedule.blocksPerSm = std::min(blocks, target.maxBlocksPerSm);
  return schedule;
}

/// For a state that the step holds: a lane has 16 bytes of each of its rows, or
/// fewer where the rows are many. Value lanes cover whole rows where a block
/// has the threads for it: a head is then one run of memory, which on an H200
/// moves a tenth faster than strips of it. Other columns go to other blocks.
/// Sums over values need all columns in one block, so there are more lanes
/// then.
static std::optional<Schedule> holdingSchedule(const SlotLayout &layout,
                                               const TargetInfo &target,
                                               bool sumsOverValues) {
  if (layout.codeOrder == CodeOrder::Columns)
    return columnSchedule(layout, target, sumsOverValues);
  if (!isPlain(layout))
    return std::nullopt;
  Schedule schedule;
  schedule.rows = RowLoop::Unrolled;
  schedule.lanes = LaneOrder::ValueFirst;
  schedule.keyLanes = defaultKeyLanes(layout);
  schedule.keysPerLane = layout.paddedKey / schedule.keyLanes;
  const int bytes = elementBytes(layout.codes.type);
  int values = kMaxLoadBytes / bytes;
  while (values > 1 && schedule.keysPerLane * values > kHeldElements)
    values /= 2;
  if (sumsOverValues)
    while (schedule.keyLanes * (layout.paddedValue / values) >
               target.maxThreads &&
           layout.paddedValue % (2 * values) == 0)
      values *= 2;
  const int columns = layout.paddedValue / values;
  // Decays that are vectors take registers, which smaller blocks have; whole
  // rows were measured on Hopper, and spill a word or two elsewhere.
  const bool vectors = layout.record.keyDecay == DecayShape::Vector;
  const bool tight =
      target.maxSharedBytes < kHopperShared ||
      (vectors && schedule.keysPerLane * values > kHeldElements / 2);
  // Fewer key lanes where that lets a block have whole rows.
  while (!tight && !vectors &&
         schedule.keyLanes * columns > target.maxThreads &&
         schedule.keyLanes > kMinKeyLanes &&
         2 * schedule.keysPerLane <= kMaxUnrolledRows &&
         2 * schedule.keysPerLane * values <= kHeldElements) {
    schedule.keyLanes /= 2;
    schedule.keysPerLane *= 2;
  }
  const int most =
      sumsOverValues
          ? kWarp
          : (tight ? kTightThreads : target.maxThreads) / schedule.keyLanes;
  while (2 * schedule.valueLanes <= most &&
         columns % (2 * schedule.valueLanes) == 0)
    schedule.valueLanes *= 2;
  schedule.valuesPerLane = values;
  schedule.split = columns / schedule.valueLanes;
  const bool fits = schedule.keysPerLane <= kMaxUnrolledRows &&
                    schedule.keysPerLane * values <= kHeldElements &&
                    schedule.threads() <= target.maxThreads &&
                    (schedule.split == 1 || !sumsOverValues);
  if (!fits)
    return std::nullopt;
  // What the kernels of this repository need without spills: the part itself,
  // and about eight key vectors.
  const int part = schedule.keysPerLane * values;
  int registers = part > 32 ? (tight ? 168 : 128) : tight && vectors ? 128 : 96;
  if (schedule.keysPerLane > 12 && vectors)
    registers = 168;
  schedule.blocksPerSm = std::min(
      kSmRegisters / (schedule.threads() * registers), kFewestBlocksOfAnSm);
  return schedule;
}

Schedule decant::defaultSchedule(const SlotLayout &layout,
                                 const TargetInfo &target,
                                 bool sumsOverValues) {
  Schedule schedule;
  if (target.kind == TargetKind::Cpu) {
    schedule.keysPerLane = layout.paddedKey;
    schedule.valuesPerLane = layout.paddedValue;
    return schedule;
  }
  if (auto holding = holdingSchedule(layout, target, sumsOverValues))
    return *holding;
  // One load is at most 16 bytes; a lane takes more values only where the
  // block would have too many threads otherwise.
  const int keyLanes = defaultKeyLanes(layout);
  int values = kMaxLoadBytes * 8 / std::max(elementBits(layout.codes.type), 8);
  // Long key vectors leave registers for short value vectors only.
  if (layout.paddedKey / keyLanes > kMaxUnrolledRows)
    values = std::min(values, kFewValues);
  // A lane owns whole bytes, see check(). Rows of their own bits take more
  // registers.
  if (layout.codeOrder == CodeOrder::Fragments && narrowestPlane(layout) < 8)
    values = 16;
  else if (!layout.rowBits.empty() ||
           (changesWithEveryToken(layout) && takesMore(layout, target)))
    values = std::min(values, kFewValues);
  while (keyLanes * (layout.paddedValue / values) > target.maxThreads &&
         layout.paddedValue % (2 * values) == 0)
    values *= 2;
  schedule.keyLanes = keyLanes;
  schedule.keysPerLane = layout.paddedKey / keyLanes;
  schedule.valuesPerLane = values;
  schedule.valueLanes = layout.paddedValue / values;
  schedule.rows = schedule.keysPerLane <= kMaxUnrolledRows ? RowLoop::Unrolled
                                                           : RowLoop::Rolled;
  return schedule;
}
