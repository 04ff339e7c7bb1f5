//===- TunedSchedules.h - what records say about a program ------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_ENGINE_TUNEDSCHEDULES_H
#define DECANT_ENGINE_TUNEDSCHEDULES_H

#include "decant/Engine.h"
#include "decant/Runtime/Pack.h"

#include <mutex>
#include <optional>

namespace decant {

/// The decode images of a program.
struct VariantPlan {
  /// One for each image; none is the usual one.
  std::vector<std::optional<Schedule>> schedules = {std::nullopt};
  std::vector<BatchRule> rules = {{kAnyRows, 0}};
  std::optional<CodeOrder> order; // of all of them, and of transfers
  /// Whether a record was made by this very build and driver.
  bool exact = true;

  /// Where a pack has the say: which of its images, whatever their schedules.
  const Pack *pack = nullptr;
  std::vector<int> packed; // one for each of `schedules`
  int packedTransfer = -1;
};

/// The records of an engine, read when they are first asked for.
class TunedSchedules {
public:
  explicit TunedSchedules(RecordFolders folders)
      : folders(std::move(folders)) {}

  Expected<RecordLookup> find(const DecodeSpec &spec, const Device &device);
  /// Reads the folders again: something was tuned since.
  void refresh();

  /// What a record says, or the usual plan; `report` says which record, or why
  /// none.
  VariantPlan plan(const DecodeSpec &spec, const Device &device,
                   VariantChoice choice, TuningReport &report);

private:
  std::shared_ptr<const RecordStore> read();

  RecordFolders folders;
  std::mutex mutex; // of the store
  std::shared_ptr<const RecordStore> store;
};

} // namespace decant

#endif // DECANT_ENGINE_TUNEDSCHEDULES_H
