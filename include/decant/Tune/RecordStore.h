//===- RecordStore.h - the records that a machine has -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records come from three places, the user's folder, the site's, and those that
// are built in, and are looked for in this order. A record is for one spec and
// one class of devices. Driver and compiler should match too; where no place
// has such a record, one whose driver or compiler differs is taken, since its
// schedule computes the same and its choice is likely still a good one, and the
// answer says what differs.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TUNE_RECORDSTORE_H
#define DECANT_TUNE_RECORDSTORE_H

#include "decant/Runtime/Device.h"
#include "decant/Tune/TuningRecord.h"

namespace decant {

/// Empty folders and folders that do not exist hold no records.
struct RecordFolders {
  std::string user, site;
  bool bundled = true;
};

struct RecordLookup {
  std::optional<TuningRecord> record;
  std::string source; // "user", "site" or "bundled", and the file
  /// Of the record that was taken: what differs from here. Without one: why
  /// those that came near do not serve.
  std::vector<std::string> differences;
};

class RecordStore {
public:
  /// Reads every *.json of the folders, by name. A file that cannot be read
  /// becomes a warning: kernels are there without it.
  static RecordStore open(const RecordFolders &folders);

  RecordLookup find(const TuningKey &key) const;
  const std::vector<std::string> &warnings() const { return notes; }

private:
  struct Source {
    std::string name;
    TuningFile file;
  };
  std::vector<Source> sources; // in the order of lookups
  std::vector<std::string> notes;
};

/// The class of a device that runs `target`.
Expected<DeviceClass> deviceClassOf(const Device &device,
                                    const std::string &target);

/// The driver's version from the text of /proc/driver/nvidia/version; empty if
/// it has none.
std::string driverVersionIn(const std::string &text);

/// The class of a bandwidth in bytes per second: "4.9 TB/s", "88 GB/s", "other"
/// for 0.
std::string bandwidthClass(double bytesPerSecond);

} // namespace decant

#endif // DECANT_TUNE_RECORDSTORE_H
