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
  std::string name; // q, k, v, g, beta, or a name of the rule's own
  Kind kind = Scalar;
  friend bool operator==(const RuleInput &a, const RuleInput &b) {
    return a.name == b.name && a.kind == b.kind;
  }
};

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
