//===- Layers.h - method, spec and overrides become one document -*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: documents in rising priority, then overrides. Out: one document, and for
// every path the file, preset or override that it came from.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_LAYERS_H
#define DECANT_LIB_SPEC_LAYERS_H

#include "JsonText.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace decant::spec {

struct Origin {
  std::string label;     // "mine.json", "preset dsq-int8", "--set a=1"
  std::string directory; // where files that it names are looked for
};

struct Override {
  std::vector<std::string> steps;
  Json value;
  Origin origin;
};
/// Reads "path=value".
Expected<Override> parseOverride(const std::string &text);

class Layers {
public:
  /// `root` is blamed for what is in no layer.
  explicit Layers(Origin root) : root(std::move(root)) {}

  /// Objects merge field by field, everything else is replaced.
  void addDocument(const Json &layer, const Origin &origin);
  /// All overrides are one layer, each of which replaces what its path names.
  /// Fails when a path leads through something that has no such part.
  Status addOverrides(const std::vector<Override> &overrides);

  const Json &document() const { return merged; }
  /// The origin of `path`: of its own value, or of what contains it when it is
  /// absent.
  const Origin &originOf(std::string path) const;

private:
  void put(Json &target, const Json &value, const std::string &path,
           const Origin &origin);
  void forget(const std::string &path);
  void dropInherited();

  Origin root;
  Json merged = Json::object();
  std::map<std::string, Origin> origins; // of leaves, by path
  std::set<std::string> touched;         // leaves that this layer wrote
};

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_LAYERS_H
