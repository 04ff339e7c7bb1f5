//===- Pack.h - an open pack ---------------------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening reads the index; an image is read, and verified, when it is asked
// for. The file stays open, so that a pack that is replaced by another of the
// same name is still the one that was opened. It is read and not mapped: of a
// mapped file that someone cuts short, the process would die.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_PACK_H
#define DECANT_RUNTIME_PACK_H

#include "decant/Runtime/PackChoice.h"
#include "decant/Runtime/Program.h"

#include <atomic>

namespace decant {

/// What has been done since the pack was opened, reading its index not among
/// it. None of it grows while a host decodes, whatever batches come.
struct PackCounters {
  int64_t images = 0, bytes = 0; // read
  int64_t loads = 0;             // images put onto a device
};

/// How one program was made from a pack.
struct PackReport {
  PackChoice choice;
  double readMs = 0; // from the file, with the check of every byte
  double loadMs = 0; // onto the device, with the driver's own compiler
  int64_t bytes = 0; // read
};

/// May be used from several threads at once.
class Pack {
public:
  static Expected<std::unique_ptr<Pack>> open(const std::string &path);
  ~Pack();
  Pack(const Pack &) = delete;
  Pack &operator=(const Pack &) = delete;

  const std::string &path() const { return name; }
  const PackIndex &index() const { return held; }
  PackCounters counters() const { return {imagesRead, bytesRead, loads}; }

  /// Image number `variant` of the index.
  Expected<KernelImage> image(int variant) const;
  Expected<ProgramImages> images(const PackChoice &choice) const;
  /// Reads everything; the error names what is damaged.
  Status verify() const;

  /// The file with other picks for one spec on one target: what a tuner writes
  /// who has timed the variants. Rules are over numbers of variants; those that
  /// no rule names become candidates, and a cubin goes with the PTX of its
  /// schedule.
  Expected<std::string> withPicks(int spec, const std::string &target,
                                  const std::vector<BatchRule> &rules) const;

private:
  friend Expected<std::unique_ptr<Program>>
  programFromPack(const Pack &, std::shared_ptr<Device>, const PackQuery &,
                  const LoadOptions &, PackReport *);
  Pack(std::string path, int file, PackIndex index);
  Expected<std::string> blob(int number) const;

  std::string name;
  int file;
  PackIndex held;
  mutable std::atomic<int64_t> imagesRead{0}, bytesRead{0}, loads{0};
};

/// Chooses, reads and loads.
Expected<std::unique_ptr<Program>>
programFromPack(const Pack &pack, std::shared_ptr<Device> device,
                const PackQuery &query, const LoadOptions &options,
                PackReport *report = nullptr);
inline Expected<std::unique_ptr<Program>>
programFromPack(const Pack &pack, std::shared_ptr<Device> device,
                const PackQuery &query) {
  return programFromPack(pack, std::move(device), query, LoadOptions());
}

} // namespace decant

#endif // DECANT_RUNTIME_PACK_H
