//===- Validate.h - is this JSON a spec -------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a merged document. Out: every field that is unknown, missing, of a wrong
// type, out of range or without meaning beside another; and the same document
// with the defaults filled in.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_VALIDATE_H
#define DECANT_LIB_SPEC_VALIDATE_H

#include "Fields.h"

namespace decant::spec {

enum class IssueKind { Wrong, Missing };

struct FieldIssue {
  IssueKind kind;
  std::string path;
  std::string message;
  std::string blame; // the path whose origin the message names
};

std::vector<FieldIssue> validate(const Json &document);

/// Whether `value` is sound for `field`, at `path` of messages.
std::vector<FieldIssue> validateField(const Field &field, const Json &value,
                                      const std::string &path);

/// A validated document in which every field that has a default is present.
Json withDefaults(Json document);

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_VALIDATE_H
