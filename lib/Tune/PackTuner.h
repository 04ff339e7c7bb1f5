//===- PackTuner.h - a pack's own candidates --------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a pack a machine without a compiler can tune: candidates are the decode
// images that the pack holds of a spec for the device's target. They are
// compared with one another, since nothing else is there, and what wins becomes
// a record, or the rules of a new pack.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_PACKTUNER_H
#define DECANT_LIB_TUNE_PACKTUNER_H

#include "Tune/Setup.h"
#include "decant/Runtime/Pack.h"

namespace decant::tune {

/// The pack's images of one spec on one device.
struct PackCandidates {
  int spec = 0; // its number in the pack
  std::string target;
  std::string compiler; // that made them
  /// Numbers of variants, with their schedules; the one that large batches get
  /// as the pack is comes first.
  std::vector<std::pair<int, ScheduleCandidate>> variants;
  /// What batches get as the pack is; this stays within noise.
  TuningRecord picks;
};

Expected<PackCandidates> packCandidates(const Pack &pack,
                                        const DecodeSpec &spec,
                                        const DeviceInfo &device);

/// Hooks that take images and candidates from the pack. Both must outlive them.
Hooks packHooks(const Pack &pack, const PackCandidates &candidates);

/// Makes a setup, which has a device and its class, one for the pack's
/// candidates: their target, who compiled them, and hooks that know no
/// compiler, and its picks as what was chosen before. Progress and stop stay
/// what they are.
Status takeFromPack(const Pack &pack, const PackCandidates &candidates,
                    Setup &setup);

/// The same pack, in which the batches of `record` get the variants that it
/// chose; images of other specs and targets stay as they are.
Expected<std::string> tunedPack(const Pack &pack,
                                const PackCandidates &candidates,
                                const TuningRecord &record);

/// Launches what `tuned` picks for each batch and compares it with what
/// `before` picks. "1..8: 0, 9..: 1", the picks, for people.
Expected<std::string> launchPicks(const Pack &tuned, const Pack &before,
                                  const DecodeSpec &spec,
                                  std::shared_ptr<Device> device,
                                  const std::vector<int64_t> &batches);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_PACKTUNER_H
