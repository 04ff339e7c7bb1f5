//===- PlainRules.h - every rule preset as plain loops ----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the tokens of a layer. Out: what each rule preset answers, in float64,
// written from the rules' equations as loops over one head: an oracle that
// shares nothing with the dialect, its interpreter or its kernels.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_PLAINRULES_H
#define DECANT_TEST_UNIT_EXECUTION_PLAINRULES_H

#include "Layer.h"

namespace decant::test {

using Numbers = std::vector<double>;
/// One token of one head by input names, q and k as the norm leaves them.
using HeadInputs = std::map<std::string, Numbers>;

/// One head of one sequence.
struct PlainHead {
  PlainHead(int keys, int values)
      : keys(keys), values(values), state(keys * values), carried(keys) {}

  Numbers read(const Numbers &key) const;      // S^T key
  Numbers readKey(const Numbers &value) const; // S value
  void write(const Numbers &key, const Numbers &value);
  void decay(double factor);
  void decayKeys(const Numbers &factors);
  void decayValues(const Numbers &factors);

  int keys, values;
  Numbers state;   // [keys, values]
  Numbers carried; // [keys], for the rules that have one
};

struct PlainRule {
  /// Of the preset; what follows a point tells two cases of it apart.
  const char *name;
  /// One token: changes the head and returns the output.
  Numbers (*step)(PlainHead &head, const HeadInputs &in);
  /// Overrides of the spec, beside the rule itself.
  std::vector<std::string> overrides;
  /// Makes random inputs such that the rule stays bounded; may be null.
  void (*shape)(HeadInputs &in);

  std::string preset() const;
  bool carries() const;
  /// Whether blocks cannot share a head: it carries or sums over values.
  bool needsWholeHeads() const;
};
void PrintTo(const PlainRule &rule, std::ostream *out);

const std::vector<PlainRule> &plainRules();

/// A whole layer under a rule.
class PlainLayer {
public:
  PlainLayer(const PlainRule &rule, const DecodeSpec &spec, int64_t rows);

  /// Applies the rule's shape() to every head of a token, with f32 results.
  Token shaped(Token token) const;
  /// The outputs of one token, [rows, value heads, value dim].
  Numbers step(const Token &token);
  Numbers states() const;  // [rows, value heads, key dim, value dim]
  Numbers carried() const; // [rows, value heads, key dim], or nothing

private:
  HeadInputs inputsOf(const Token &token, int64_t row, int head) const;

  const PlainRule &rule;
  DecodeSpec spec;
  int64_t rows;
  std::vector<PlainHead> heads; // [rows, value heads]
};

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_PLAINRULES_H
