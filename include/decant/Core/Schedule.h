//===- Schedule.h - every choice a tuner may make ---------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Schedule says how a kernel's work is cut. Its text form is the attribute
// #decant.schedule, a part of the cache key and the tuner's key alike.
//
// Strategy `simt`: one block per (row, value head). The state tile is spread
// over keyLanes x valueLanes threads; thread t is key lane t % keyLanes and
// value lane t / keyLanes, and holds a tile of keysPerLane x valuesPerLane
// elements. For int8, 128 x 128, keyLanes = 16, valueLanes = 8:
//
//            value 0..15   16..31  ...  112..127
//   key 0..7      t0         t16          t112      a key vector is spread over
//   key 8..15     t1         t17          t113      the rows of this picture
//   and
//   ...                                             repeated along them; a
//   value key 120..127  t15        t31          t127      vector the other way
//   round
//
// With lanes = value_first, thread t is value lane t % valueLanes and key lane
// t / valueLanes: a warp then loads whole lines of a few rows of the state.
// split > 1 cuts the value axis of a head over that many blocks, each of which
// holds valueLanes x valuesPerLane columns; all do the work along keys. Where a
// step holds its part of a state that lies in columns (CodeOrder::Columns), key
// lanes come first and lanes beyond the key dim hold zeros.
//
// Strategy `mma`: one block per (row, value head), of value_lanes warps of 32
// key lanes. A warp owns values_per_lane consecutive values; its lanes hold the
// codes as tensor-core fragments (CodeOrder::Fragments). A key vector is spread
// over the lanes of each warp, keys_per_lane consecutive keys a lane, and lanes
// beyond the key dim hold zeros; a value vector is spread over all threads, one
// value a thread, or two when a warp owns 64.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_SCHEDULE_H
#define DECANT_CORE_SCHEDULE_H

#include "decant/Core/SlotLayout.h"
#include "decant/Core/TargetInfo.h"

#include <optional>

namespace decant {

enum class Strategy { Simt, Mma };
const char *toString(Strategy strategy);

/// Whether loops over a lane's key rows are unrolled in the tiled stage.
enum class RowLoop { Unrolled, Rolled };
const char *toString(RowLoop loop);

/// Where a full window is folded: in a launch of its own that the caller makes
/// before the window overflows, or by the step itself, block by block.
enum class Boundary { Apart, Step };
const char *toString(Boundary boundary);

/// Which lanes of a block are neighbours: those along the key or the value
/// axis.
enum class LaneOrder { KeyFirst, ValueFirst };
const char *toString(LaneOrder order);

/// Where strategy mma keeps a head's codes until a read uses them: in
/// registers, whose loads the assembler may put off, or in shared memory, by
/// asynchronous copies, which it does not: of 16 bytes by each lane, or of
/// all of them by one (a bulk copy).
enum class CodeFetch { Registers, Shared, Bulk };
const char *toString(CodeFetch fetch);

/// When a step may begin: after the kernel ahead of it on the stream has ended,
/// or while it ends, to wait for it on the device (programmatic dependent
/// launch), which hides what a launch takes.
enum class LaunchOrder { Ordered, Dependent };
const char *toString(LaunchOrder launch);

struct Schedule {
  Strategy strategy = Strategy::Simt;
  int keyLanes = 1;
  int valueLanes = 1;
  int keysPerLane = 0;
  int valuesPerLane = 0;
  RowLoop rows = RowLoop::Rolled;
  Boundary boundary = Boundary::Apart;
  /// Blocks of the step that one SM must be able to hold, which bounds the
  /// registers of a thread; 0 leaves it to the assembler.
  int blocksPerSm = 0;
  LaneOrder lanes = LaneOrder::KeyFirst;
  /// Blocks that share a head, by columns.
  int split = 1;
  CodeFetch fetch = CodeFetch::Registers;
  LaunchOrder launch = LaunchOrder::Ordered;
  /// The last blocks of a launch, so many, exchange their rows with the first
  /// where only the last would fold, since a fold that ends a launch has the
  /// memory to itself. In launches of fewer blocks, which run nearly all at
  /// once, none does. 0: never.
  int exchange = 0;

  int threads() const { return keyLanes * valueLanes; }
};

/// Says why `schedule` cannot run `layout` on `target`; Ok when it can.
Status check(const Schedule &schedule, const SlotLayout &layout,
             const TargetInfo &target);

/// How many lanes share the key axis by default, on a GPU: 16, or 8 when 16
/// does not divide the padded key dim. Simt kernels form sums over keys in this
/// many parts on every target; a lane may have several of them.
int defaultKeyLanes(const SlotLayout &layout);

/// Floats that are the state itself can be held by other numbers of lanes, by
/// rows or by columns. There each of those parts is a tree over parts of this
/// many keys; elsewhere it is one.
int keysPerPart(const SlotLayout &layout);

/// Whether the step holds a lane's part of the state in registers from its
/// reads to its write: at window 1, without compensators, with unrolled rows
/// and a part that is small.
bool holdsState(const Schedule &schedule, const SlotLayout &layout);

/// The schedule that is used without a tuner. `sumsOverValues` says that the
/// kernel needs sums over the value axis, which blocks cannot share.
Schedule defaultSchedule(const SlotLayout &layout, const TargetInfo &target,
                         bool sumsOverValues = false);

/// The tensor-core schedule, where the layout and the target have one.
std::optional<Schedule> mmaSchedule(const SlotLayout &layout,
                                    const TargetInfo &target);

/// "strategy = simt, key_lanes = 16, ..."; parse() reads it back.
std::string toString(const Schedule &schedule);
Expected<Schedule> parseSchedule(const std::string &text);

} // namespace decant

#endif // DECANT_CORE_SCHEDULE_H
