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

/// A plan for methods that have no other bits than those of their codes; empty
/// for those that need none.
std::string planFor(std::string_view method) {
  auto planOf = [](const char *numbers) {
    return std::string(R"({"decant_plan": 1, "heads": 4, "key_dim": 128, )") +
           numbers + "}";
  };
  if (method.find("\"table4\"") != std::string_view::npos)
    return planOf(R"("levels": [-0.95, -0.8, -0.65, -0.5, -0.4, -0.3, -0.2, )"
                  R"(-0.1, 0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9])");
  if (method.find("\"table3\"") != std::string_view::npos)
    return planOf(
        R"("levels": [-0.9, -0.6, -0.3, -0.1, 0.1, 0.3, 0.55, 0.85])");
  if (method.find("\"static\"") != std::string_view::npos)
    return planOf(R"("scales": [0.01, 0.02, 0.03, 0.04])");
  return {};
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
      if (const std::string plan = planFor(file.text); !plan.empty())
        overrides.push_back("state.plan=" + plan);
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
