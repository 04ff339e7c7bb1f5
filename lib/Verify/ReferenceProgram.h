//===- ReferenceProgram.h - the rule of a spec in float64 -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_REFERENCEPROGRAM_H
#define DECANT_LIB_VERIFY_REFERENCEPROGRAM_H

#include "decant/Core/DecodeSpec.h"
#include "decant/Reference/RuleProgram.h"

namespace decant {

struct ReferencePrograms {
  /// The spec's rule with its input conventions.
  RuleProgram exact;
  /// The same, but every written key and value goes through the type in which a
  /// window's records are kept. With the state's codec behind it, this is the
  /// best that a kernel with the spec's format can do.
  RuleProgram stored;
};
Expected<ReferencePrograms> referencePrograms(const DecodeSpec &spec);

} // namespace decant

#endif // DECANT_LIB_VERIFY_REFERENCEPROGRAM_H
