//===- TestPack.h - a small pack, by hand --------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_RUNTIME_TESTPACK_H
#define DECANT_TEST_UNIT_RUNTIME_TESTPACK_H

#include "TestImages.h"
#include "decant/Runtime/PackBuilder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace decant {
namespace test {

/// A folder that is gone with its owner.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "decant-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make " + name);
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string write(const std::string &name, const std::string &bytes) const {
    const std::string file = path + "/" + name;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return file;
  }

private:
  std::string path;
};

inline std::string testSchedule(int keyLanes) {
  Schedule schedule;
  schedule.keyLanes = keyLanes;
  schedule.keysPerLane = schedule.valuesPerLane = 1;
  return toString(schedule);
}

/// decodeImage() for a target, cut over `keyLanes` lanes; its step has as many
/// blocks per row, by which launches tell variants apart.
inline KernelImage variantFor(const char *target, int keyLanes,
                              const char *name = "layer") {
  KernelImage image = decodeImage(8);
  image.specName = name;
  image.target = target;
  image.ptxIsa = lookupTarget(target)->ptxIsa;
  image.scheduleText = testSchedule(keyLanes);
  for (KernelEntry &entry : image.entries)
    entry.blocksPerRow = keyLanes;
  image.code +=
      "target " + image.target + " lanes " + std::to_string(keyLanes) + "\n";
  return image;
}

inline KernelImage transferFor(const char *target, const char *name = "layer") {
  KernelImage image = transferImage(8);
  image.specName = name;
  image.target = target;
  image.ptxIsa = lookupTarget(target)->ptxIsa;
  return image;
}

inline KernelImage cubinOf(KernelImage image) {
  image.kind = CodeKind::Cubin;
  image.ptxIsa = 0;
  image.code = "machine " + image.code;
  return image;
}

inline void require(const Status &status) {
  if (!status.ok())
    throw std::runtime_error(status.message());
}

/// Two specs; of the first, three cuts for sm_90a, one for sm_80 and a
/// candidate.
///   0, 1, 2   sm_90a, batches of up to 8, up to 64, any
///   3, 4      sm_90a, the transfer kernels, and a candidate
///   5, 6      sm_80, any, and transfer
///   7         sm_80 of another spec with the same kernels
inline PackBuilder testPack() {
  PackBuilder pack;
  require(pack.add(variantFor("sm_90a", 4), {8}));
  require(pack.add(variantFor("sm_90a", 16), {64}));
  require(pack.add(variantFor("sm_90a", 8), {kAnyRows}));
  require(pack.add(transferFor("sm_90a")));
  require(pack.add(variantFor("sm_90a", 2)));
  require(pack.add(variantFor("sm_80", 8), {kAnyRows}));
  require(pack.add(transferFor("sm_80")));
  require(pack.add(variantFor("sm_80", 8, "other"), {kAnyRows}));
  return pack;
}

inline std::string testPackBytes() {
  PackBuilder pack = testPack();
  Expected<std::string> bytes = pack.bytes();
  require(bytes.status());
  return bytes.take();
}

} // namespace test
} // namespace decant

#endif // DECANT_TEST_UNIT_RUNTIME_TESTPACK_H
