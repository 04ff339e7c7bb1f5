//===- WarmStart.h - one process, from a pack to a launch -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_BENCHMARKS_WARMSTART_H
#define DECANT_BENCHMARKS_WARMSTART_H

#include "decant/Runtime/Pack.h"

#include <nlohmann/json.hpp>

namespace decant::bench {

using Json = nlohmann::ordered_json;

struct WarmStartOptions {
  std::string pack;
  std::string device = "cuda:0";
  PackQuery query;
  int64_t batch = 64;
  bool graphs = false; // serve by CUDA graphs of batches 1, 2, 4, ...
};

/// Of a clock that all processes share.
int64_t nowNanoseconds();

/// Opens the pack, makes its program, steps once and then `serve` times; the
/// process was asked for at `asked` and came to main() at `started`.
Expected<Json> warmStart(const WarmStartOptions &options, int64_t asked,
                         int64_t started, int64_t serve);

/// By each of the two programs in its own way.
Expected<std::shared_ptr<Device>> openWarmDevice(const std::string &name);

} // namespace decant::bench

#endif // DECANT_BENCHMARKS_WARMSTART_H
