//===- Report.h - a verdict for people and programs -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_REPORT_H
#define BYTELM_REPORT_H

#include "Judge.h"

namespace bytelm {

struct Judged {
  const Verdict &verdict;
  const Streams &streams;
  const std::vector<std::unique_ptr<LayerStates>> &layers;
  std::string device; // empty: no layer is Decant's
  bool storedReference = false;
};

std::string toText(const Judged &judged);
std::string toJson(const Judged &judged);

} // namespace bytelm

#endif // BYTELM_REPORT_H
