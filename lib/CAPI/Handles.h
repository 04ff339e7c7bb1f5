//===- Handles.h - what lies behind the compiler's C handles ----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_CAPI_HANDLES_H
#define DECANT_LIB_CAPI_HANDLES_H

#include "decant-c/decant.h"
#include "decant/Engine.h"
#include "decant/Runtime/CApi.h"

#include <mutex>
#include <set>

struct DecantSpec {
  decant::DecodeSpec spec;
};

struct DecantEngine {
  explicit DecantEngine(decant::Engine given) : engine(std::move(given)) {}

  /// A copy of `text` that lives as long as the engine, null for an empty one.
  /// Equal texts share one copy, so that a host that prepares for days does not
  /// grow by its reports.
  const char *keep(const std::string &text);

  decant::Engine engine;

private:
  std::mutex mutex;
  std::set<std::string> texts;
};

namespace decant {
namespace capi {

template <> constexpr size_t firstSize<DecantEngineOptions>() {
  return offsetof(DecantEngineOptions, cache_layers);
}
template <> constexpr size_t firstSize<DecantPrepareReport>() {
  return offsetof(DecantPrepareReport, link_ms);
}

template <> constexpr size_t firstSize<DecantEngineCounters>() {
  return offsetof(DecantEngineCounters, packed);
}

/// A copy of `text` for the caller, who frees it by decantTextDestroy().
Status giveText(const std::string &text, char **result);

} // namespace capi
} // namespace decant

#endif // DECANT_LIB_CAPI_HANDLES_H
