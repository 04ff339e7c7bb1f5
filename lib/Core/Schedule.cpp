//===- Schedule.cpp - legality, default and text of schedules -------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Core/Schedule.h"
#include "decant/Core/CodeStore.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <sstream>

using namespace decant;

namespace {

constexpr int kMaxLoadBytes =
    16; // widest load of a lane before sm_100, PTX ISA
/// Key vectors (q, k, decays, the folded operands) live in registers, about
/// eight at a time: 16 elements each are 128 registers.
constexpr int kMaxUnrolledRows = 16;
constexpr int kFewValues = 8;
constexpr int kWarp = 32;
/// Elements of a lane's part of a state that the step holds, an f32 register
/// each: the most that fit beside everything else, and the default, which
/// leaves room on an SM for as many lanes as it takes to keep 30 KB of loads in
/// flight.
constexpr int kMaxHeldElements = 128;
constexpr int kHeldElements = 64;
constexpr int kTightThreads = 128;
constexpr int kHopperShared = 227 * 1024;
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

bool isPowerOfTwo(int value) { return value > 0 && (value & (value - 1)) == 0; }

} // namespace

const char *decant::toString(Strategy strategy) {
  switch (strategy) {
  case Strategy::Simt:
    return "simt";
  case Strategy::Mma:
    return "mma";
  }
  return "";
}

const char *decant::toString(Boundary boundary) {
  return boundary == Boundary::Apart ? "apart" : "step";
}

const char *decant::toString(RowLoop loop) {
  return loop == RowLoop::Unrolled ? "unrolled" : "rolled";
}

const char *decant::toString(LaunchOrder launch) {
  return launch == LaunchOrder::Ordered ? "ordered" : "dependent";
}

const char *decant::toString(CodeFetch fetch) {
  switch (fetch) {
  case CodeFetch::Registers:
    return "registers";
  case CodeFetch::Shared:
    return "shared";
  case CodeFetch::Bulk:
    return "bulk";
  }
  return "?";
}

const char *decant::toString(LaneOrder order) {
  return order == LaneOrder::KeyFirst ? "key_first" : "value_first";
}

namespace {

/// Keys of one lane when 32 lanes share the axis: a power of two.
int mmaKeysPerLane(const SlotLayout &layout) {
  int keys = 1;
  while (keys * kWarp < layout.paddedKey)
    keys *= 2;
  return keys;
}

bool fitsAs(const SlotLayout &layout, std::initializer_list<ScaleFit> fits) {
  return std::any_of(
      layout.scales.begin(), layout.scales.end(), [&](const ScaleSpec &scale) {
        return std::find(fits.begin(), fits.end(), scale.fit) != fits.end();
      });
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
  constexpr int kColumnsTogether = 8, kTogether = 5;
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
  const int products = std::min((before + kTerms - 1) / kTerms, kTogether);
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

/// Registers of tensor-core kernels were counted to the last one where they
/// were timed.
constexpr int kTimedMajor = 9;

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

std::string whyNotMma(const Schedule &schedule, const SlotLayout &layout) {
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

} // namespace

namespace {

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
    if (check(schedule, layout, target).ok())
      return schedule;
  }
  return std::nullopt;
}

std::string decant::toString(const Schedule &schedule) {
  std::string text = fmt::format(
      "strategy = {}, key_lanes = {}, value_lanes = {}, keys_per_lane = {}, "
      "values_per_lane = {}, rows = {}, boundary = {}, blocks_per_sm = {}, "
      "lanes = {}, split = {}",
      toString(schedule.strategy), schedule.keyLanes, schedule.valueLanes,
      schedule.keysPerLane, schedule.valuesPerLane, toString(schedule.rows),
      toString(schedule.boundary), schedule.blocksPerSm,
      toString(schedule.lanes), schedule.split);
  if (schedule.strategy == Strategy::Mma) // others have one way
    text += fmt::format(", fetch = {}", toString(schedule.fetch));
  if (schedule.launch != LaunchOrder::Ordered)
    text += fmt::format(", launch = {}", toString(schedule.launch));
  return text;
}

namespace {

/// The fields of a schedule's text; each is taken once, and those that are left
/// are unknown.
class FieldReader {
public:
  static Expected<FieldReader> make(const std::string &text) {
    FieldReader reader;
    std::stringstream stream(text);
    for (std::string field; std::getline(stream, field, ',');) {
      const size_t equals = field.find('=');
      if (equals == std::string::npos)
        return Status::invalid(
            fmt::format("schedule: '{}' is not 'field = value'", trim(field)));
      reader.fields[trim(field.substr(0, equals))] =
          trim(field.substr(equals + 1));
    }
    return reader;
  }

  bool has(const char *name) const { return fields.count(name) > 0; }

  Status number(const char *name, int least, int &out) {
    const std::string word = take(name);
    const bool digits = !word.empty() && word.size() < 6 &&
                        std::all_of(
                            word.begin(), word.end(),
                            [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || std::stoi(word) < least)
      return Status::invalid(
          fmt::format("schedule.{}: '{}'; a whole number of at least {} is "
                      "needed",
                      name, word, least));
    out = std::stoi(word);
    return {};
  }

  template <typename Enum>
  Status choice(const char *name, std::initializer_list<Enum> allowed,
                Enum &out) {
    const std::string word = take(name);
    std::vector<std::string> names;
    for (Enum value : allowed) {
      if (word == toString(value)) {
        out = value;
        return {};
      }
      names.push_back(toString(value));
    }
    return Status::invalid(fmt::format("schedule.{}: '{}'; allowed are {}",
                                       name, word, fmt::join(names, ", ")));
  }

  Status finish() const {
    if (fields.empty())
      return {};
    return Status::invalid(
        fmt::format("schedule: unknown field '{}'", fields.begin()->first));
  }

private:
  static std::string trim(const std::string &word) {
    const size_t first = word.find_first_not_of(' ');
    return first == std::string::npos
               ? std::string()
               : word.substr(first, word.find_last_not_of(' ') - first + 1);
  }

  std::string take(const char *name) {
    auto found = fields.find(name);
    if (found == fields.end())
      return {};
    std::string word = found->second;
    fields.erase(found);
    return word;
  }

  std::map<std::string, std::string> fields;
};

} // namespace

Expected<Schedule> decant::parseSchedule(const std::string &text) {
  DECANT_ASSIGN(FieldReader reader, FieldReader::make(text));
  Schedule schedule;
  DECANT_TRY(reader.choice("strategy", {Strategy::Simt, Strategy::Mma},
                           schedule.strategy));
  DECANT_TRY(reader.number("key_lanes", 1, schedule.keyLanes));
  DECANT_TRY(reader.number("value_lanes", 1, schedule.valueLanes));
  DECANT_TRY(reader.number("keys_per_lane", 1, schedule.keysPerLane));
  DECANT_TRY(reader.number("values_per_lane", 1, schedule.valuesPerLane));
  DECANT_TRY(reader.choice("rows", {RowLoop::Unrolled, RowLoop::Rolled},
                           schedule.rows));
  if (reader.has("boundary"))
    DECANT_TRY(reader.choice("boundary", {Boundary::Apart, Boundary::Step},
                             schedule.boundary));
  if (reader.has("blocks_per_sm"))
    DECANT_TRY(reader.number("blocks_per_sm", 0, schedule.blocksPerSm));
  if (reader.has("lanes"))
    DECANT_TRY(reader.choice(
        "lanes", {LaneOrder::KeyFirst, LaneOrder::ValueFirst}, schedule.lanes));
  if (reader.has("split"))
    DECANT_TRY(reader.number("split", 1, schedule.split));
  if (reader.has("fetch"))
    DECANT_TRY(reader.choice(
        "fetch", {CodeFetch::Registers, CodeFetch::Shared, CodeFetch::Bulk},
        schedule.fetch));
  if (reader.has("launch"))
    DECANT_TRY(reader.choice("launch",
                             {LaunchOrder::Ordered, LaunchOrder::Dependent},
                             schedule.launch));
  DECANT_TRY(reader.finish());
  return schedule;
}
