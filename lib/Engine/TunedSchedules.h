//===- TunedSchedules.h - what records say about a program ----- -*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_ENGINE_TUNEDSCHEDULES_H
#define DECANT_ENGINE_TUNEDSCHEDULES_H

#include "decant/Engine.h"

#include <mutex>

namespace decant {

/// The decode images of a program.
struct VariantPlan {
  /// One for each image; none is the usual one.
  std::vector<std::optional<Schedule>> schedules = {std::nullopt};
  std::vector<BatchRule> rules = {{kAnyRows, 0}};
  std::optional<CodeOrder> order; // of all of them, and of transfers
};

/// The records of an engine, read when they are first asked for.
class TunedSchedules {
public:
  explicit TunedSchedules(RecordFolders folders)
      : folders(std::move(folders)) {}

  Expected<RecordLookup> find(const DecodeSpec &spec, const Device &device);

  /// What a record says, or the usual plan; `report` says which record, or why
  /// none.
  VariantPlan plan(const DecodeSpec &spec, const Device &device,
                   VariantChoice choice, TuningReport &report);

private:
  RecordFolders folders;
  std::once_flag read;
  RecordStore store;
};

} // namespace decant

#endif // DECANT_ENGINE_TUNEDSCHEDULES_H
