//===- RecordTuner.h - a record, made by one of all processes ---*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processes that start together, the ranks of one host, say, want one answer,
// and one of them to do the work. Who gets the lock of a spec and a class of
// devices tunes and leaves a file in the user's folder of records; the others
// wait for the lock and find it there. The kernel gives a lock back when its
// process ends, however it ends; the next one then tunes.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_ENGINE_RECORDTUNER_H
#define DECANT_LIB_ENGINE_RECORDTUNER_H

#include "Tune/Setup.h"
#include "decant/Tune/RecordStore.h"

#include <atomic>

namespace decant {

class RecordTuner {
public:
  /// `folder` is the user's; it is made if it is missing.
  explicit RecordTuner(std::string folder) : folder(std::move(folder)) {}

  /// Once a record is in the folder: true if it was made here, false if it
  /// came while this waited. `isThere` looks for it; `complete` is called with
  /// a new one before the others see it.
  Expected<bool>
  makeRecord(const DecodeSpec &spec, const tune::Setup &setup,
             const std::function<bool()> &isThere,
             const std::function<void(const TuningRecord &)> &complete);
  int64_t searches() const { return begun; }

private:
  std::string folder;
  std::atomic<int64_t> begun{0};
};

} // namespace decant

#endif // DECANT_LIB_ENGINE_RECORDTUNER_H
