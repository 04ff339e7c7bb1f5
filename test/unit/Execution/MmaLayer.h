//===- MmaLayer.h - layers under the tensor-core schedule -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_MMALAYER_H
#define DECANT_TEST_UNIT_EXECUTION_MMALAYER_H

#include "FormatList.h"
#include "Oracle.h"

namespace decant::test {

/// What a token of the built-in rules adds.
constexpr RecordShape kGdnRecord = {1, DecayShape::Scalar, DecayShape::None};
constexpr RecordShape kKdaRecord = {1, DecayShape::Vector, DecayShape::None};

/// The schedule that sm_90a gets by default; the host runs its lanes in turn.
/// Throws where strategy mma does not apply.
Schedule mmaScheduleOf(const DecodeSpec &spec, const RecordShape &record);

Layer mmaLayer(const DecodeSpec &spec, Placement placement,
               const RecordShape &record = kGdnRecord);
/// The same with windows that are folded by `boundary`.
Layer mmaLayer(const DecodeSpec &spec, Placement placement,
               const RecordShape &record, Boundary boundary,
               Kernels kernels = Kernels::Decode);

/// The kernel's errors against those of the codec, after `tokens` tokens.
///
/// FormatsTest says what rounding in another place does to either: hardly
/// anything without a fit (1.01), 1.02 with a few fits, 1.1 and for
/// outputs 1.25 with one at every token. A fold on tensor cores multiplies
/// decays into terms that it holds in f16, and rounds once more: below kF16Norm
/// of the state, each time another error, and what it adds to the errors of the
/// format it adds in quadrature. A vector decay is multiplied into the records'
/// keys at every read as well.
void expectFormatCosts(const FormatErrors &errors, const DecodeSpec &spec,
                       int tokens);

/// A format of FormatList.h by its name.
const Format &formatNamed(const std::string &name);

/// A plan whose rows fill slabs: widths in turn over the rows of a head, all
/// seven over the heads, which differ in length; the last head has one.
std::string slabPlan(int heads, int keyDim);

struct MmaCase {
  const char *rule; // gated_delta, kda
  const char *format;
  int compensators, window, key, value;

  DecodeSpec spec(const std::vector<std::string> &more = {}) const;
  const RecordShape &record() const;
  std::string name() const;
};
/// The kernel and the codec round numbers near the middle of two codes apart,
/// and compensators differ in their last bits: two draws of the same errors,
/// whose sizes come together over many elements only. (int6 with 4 compensators
/// at 64 x 32, outputs over the codec's: 1.08 of 16 rows, 1.03 of 64, 1.00 of
/// 192.)
int rowsFor(const MmaCase &test);
void PrintTo(const MmaCase &test, std::ostream *out);

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_MMALAYER_H
