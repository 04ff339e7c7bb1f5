//===- Journal.h - measurements that outlive an interruption ----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of lines, one JSON object each, that a tuner appends to as it goes.
// The first line says on which device, driver and build; where that is not what
// is here now, the file begins anew. A line that a killed process left half
// written is dropped, with whatever follows it.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_JOURNAL_H
#define DECANT_LIB_TUNE_JOURNAL_H

#include "decant/Tune/TuningRecord.h"

#include <map>
#include <memory>
#include <mutex>

namespace decant::tune {

/// What is known of one entry; which fields have a meaning is its kind's
/// business.
struct JournalEntry {
  std::vector<double> numbers;
  std::string text;
};

class Journal {
public:
  /// Keeps entries in memory only.
  Journal();
  /// Reads what `path` has of `device` and `compiler`, and appends to it.
  static Expected<Journal> open(const std::string &path,
                                const DeviceClass &device,
                                const std::string &compiler);
  Journal(Journal &&) noexcept;
  Journal &operator=(Journal &&) noexcept;
  ~Journal();

  /// Null if nothing is known. Safe from several threads.
  std::optional<JournalEntry> find(const std::string &id) const;
  Status add(const std::string &id, const JournalEntry &entry);

  size_t resumed() const { return found; } // entries that open() read
  /// The measurements have become a record.
  void remove();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
  size_t found = 0;
};

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_JOURNAL_H
