//===- RuleInfo.h - what a rule takes and leaves behind ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts about a rule that parts without MLIR need: its arguments by name
// (to bind a trace or a caller's tensors) and the shape of its records (to lay
// out a slot). Both are read off the rule's IR.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_RULEINFO_H
#define DECANT_CORE_RULEINFO_H

#include "decant/Core/SlotLayout.h"

#include <string>
#include <vector>

namespace decant {

/// One argument of a rule after the state: what one token brings to one head.
struct RuleInput {
  enum Kind { Scalar, KeyVector, ValueVector };
  /// Row: a row per sequence, of the spec's input type (gates: gate type).
  /// Gate: a row per sequence, of the gate type whatever the name.
  /// Layer: f32, [value heads], the same for all rows and tokens.
  /// Carried: no input, but what the token before has left beside the state.
  enum Source { Row, Gate, Layer, Carried };
  std::string name; // q, k, v, g, beta, or a name of the rule's own
  Kind kind = Scalar;
  Source source = Row;
  friend bool operator==(const RuleInput &a, const RuleInput &b) {
    return a.name == b.name && a.kind == b.kind && a.source == b.source;
  }
};

/// "k" of "k" and of "k1", "k2", ...: a further input of a kind is known by its
/// number.
inline std::string withoutNumber(const std::string &name) {
  const size_t last = name.find_last_not_of("0123456789");
  return last == std::string::npos ? name : name.substr(0, last + 1);
}
/// Inputs of which a query/key head has one: q, k, k1, k2, ...
inline bool hasKeyHeads(const std::string &name) {
  return name == "q" || withoutNumber(name) == "k";
}
/// Inputs under the spec's beta conventions: beta, beta1, beta2, ...
inline bool isBeta(const std::string &name) {
  return withoutNumber(name) == "beta";
}
/// A_log and dt_bias belong to a layer without a word in the rule, where the
/// decay's form asks for them.
inline bool isGateParameter(const std::string &name) {
  return name == "A_log" || name == "dt_bias";
}

struct RuleInfo {
  std::vector<RuleInput> inputs; // in the rule's order
  RecordShape record;
};

/// The query/key head that value head `valueHead` reads.
inline int keyHeadOf(const HeadShape &heads, int valueHead) {
  return heads.map == HeadMap::Group ? valueHead / (heads.value / heads.key)
                                     : valueHead % heads.key;
}

} // namespace decant

#endif // DECANT_CORE_RULEINFO_H
