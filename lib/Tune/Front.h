//===- Front.h - formats that no other beats in everything ------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: errors, bits and times of formats. Out: the Pareto front, which of a long
// list are worth timing, and the one that meets the bounds in the least time.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_FRONT_H
#define DECANT_LIB_TUNE_FRONT_H

#include <cstddef>
#include <optional>
#include <vector>

namespace decant::tune {

/// A format's place; less is better in all three.
struct Place {
  double error = 0, bits = 0;
  double time = 0; // geometric mean over batches
};

struct Bounds {
  std::optional<double> error, bits;
  bool met(const Place &place) const {
    return (!error || place.error <= *error) && (!bits || place.bits <= *bits);
  }
};

/// Whether no other place is at least as good in all three and better in one.
std::vector<bool> frontOf(const std::vector<Place> &places);

/// Numbers of up to `most` places: the first, then those on the front that meet
/// the bounds, the fastest first, then others of the front, the most accurate
/// first; of places within a hundredth in time and bits only the best.
std::vector<size_t> worthTiming(const std::vector<Place> &places,
                                const Bounds &bounds, size_t most);

/// The fastest that meets the bounds; of those within `noise` (a part) of it,
/// the one that was chosen before, `held`, or the most accurate. Nothing if
/// none does.
std::optional<size_t> fastestWithin(const std::vector<Place> &places,
                                    const Bounds &bounds, double noise,
                                    std::optional<size_t> held = std::nullopt);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_FRONT_H
