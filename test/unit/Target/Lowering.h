//===- Lowering.h - mapped IR to code, for tests -------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_TARGET_LOWERING_H
#define DECANT_TEST_TARGET_LOWERING_H

#include "decant/Core/TargetInfo.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace decant::test {

/// MLIR text of stage mapped to PTX for the target named `target`.
Expected<std::string> toPtx(const std::string &mapped,
                            const std::string &target);
Expected<std::string> toPtx(const std::string &mapped,
                            const TargetInfo &target);

/// MLIR text of stage mapped to a host object or assembly for the processor
/// `arch`.
Expected<std::string> toObject(const std::string &mapped,
                               const std::string &arch = "native");
Expected<std::string> toAssembly(const std::string &mapped,
                                 const std::string &arch = "native");

/// A host object in memory.
class LoadedObject {
public:
  static Expected<LoadedObject> load(const std::string &object);
  LoadedObject(LoadedObject &&) noexcept;
  ~LoadedObject();

  /// Calls `function`_packed; the arguments are pointers to arrays or integers.
  struct Arg {
    Arg(const void *pointer) : pointer(pointer) {}
    Arg(int64_t integer) : integer(integer) {}
    union {
      const void *pointer;
      int64_t integer;
    };
  };
  Status call(const std::string &function, std::vector<Arg> args, int64_t first,
              int64_t last) const;

private:
  struct Jit;
  explicit LoadedObject(std::unique_ptr<Jit> jit);
  std::unique_ptr<Jit> jit;
};

} // namespace decant::test

#endif // DECANT_TEST_TARGET_LOWERING_H
