//===- PresetLayers.cpp - a layer for every preset ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PresetLayers.h"

using namespace decant;

namespace {

constexpr const char *kLayer = "bytelm-gdn";

/// Two that belong together have one name, which reports show.
SpecSource layerWith(const std::string &name,
                     std::vector<std::string> overrides) {
  overrides.push_back("name=" + name);
  return {kLayer, std::move(overrides)};
}

} // namespace

std::vector<SpecSource> decant::presetLayers(PresetKind kind) {
  std::vector<SpecSource> layers;
  for (const PresetFile &file : presetFiles()) {
    if (file.kind != kind)
      continue;
    const std::string name(file.name);
    switch (kind) {
    case PresetKind::Model:
      layers.push_back({name, {}});
      break;
    case PresetKind::Method: {
      std::vector<std::string> overrides = {"preset=" + name};
      // In the place of a plan.
      if (file.text.find("\"lifetime\"") != std::string_view::npos)
        overrides.push_back("state.bits.by=even");
      layers.push_back(layerWith(name, std::move(overrides)));
      break;
    }
    case PresetKind::Rule:
      for (const char *method : {"step-fp32", "leapquant-int8"})
        layers.push_back(
            layerWith(name + "/" + method,
                      {"rule=" + name, std::string("preset=") + method}));
      break;
    }
  }
  return layers;
}
