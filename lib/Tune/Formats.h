//===- Formats.h - formats that a tuner may try -----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a layer. Out: the same layer with other state formats, window lengths and
// compensators: the method presets that suit its rule, and mixtures of fields.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_FORMATS_H
#define DECANT_LIB_TUNE_FORMATS_H

#include "decant/Core/DecodeSpec.h"

#include <map>

namespace decant::tune {

struct FormatCandidate {
  std::string name; // "leapquant-int6", "int4 w32 r8 f16", "plan6.5 w64"
  DecodeSpec spec;
};

/// What may be tried beside the format that is there.
enum class FormatSet { Methods, Mixtures, All };

/// Bits of the layer's key rows that traces ask for, by their mean.
using Plans = std::map<double, std::vector<uint8_t>>;
/// The means for which mixtures use plans.
const std::vector<double> &plannedMeans();

/// `layer` itself first; then those whose bits per element are at most
/// `maxBits`, each format once, in a fixed order. Without plans, bits of rows
/// are dealt out evenly only. `mostWindow` tokens at most are a window, but for
/// the layer's own; 0: any number.
std::vector<FormatCandidate> formatCandidates(const DecodeSpec &layer,
                                              FormatSet set, double maxBits,
                                              const Plans &plans = {},
                                              int64_t mostWindow = 0);

/// A spec's objects `state` and `window`, as JSON text.
std::string stateJson(const DecodeSpec &spec);
std::string windowJson(const DecodeSpec &spec);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_FORMATS_H
