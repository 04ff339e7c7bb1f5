//===- Convert.cpp - from validated JSON to a DecodeSpec ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Convert.h"

#include "Fields.h"

#include <cmath>

namespace decant::spec {
namespace {

template <typename T> T word(const Json &object, const char *name) {
  return enumFrom<T>(object.at(name).get<std::string>());
}

/// Whole numbers may be written as 1.0, as in JSON Schema.
int whole(const Json &object, const char *name) {
  return int(object.at(name).get<double>());
}

HeadShape convertHeads(const Json &json) {
  return {whole(json, "key"), whole(json, "value"), whole(json, "key_dim"),
          whole(json, "value_dim"), word<HeadMap>(json, "map")};
}

InputSpec convertInputs(const Json &json, const HeadShape &heads) {
  InputSpec inputs;
  inputs.type = word<ElementType>(json, "type");
  inputs.output = word<ElementType>(json, "output");
  inputs.layout = word<InputLayout>(json, "layout");
  inputs.decay = word<DecayForm>(json, "decay");
  inputs.gateType = word<ElementType>(json, "gate_type");
  inputs.lowerBound = json.value("lower_bound", 0.0);
  inputs.beta = word<BetaForm>(json, "beta");
  inputs.betaScale = json.at("beta_scale").get<double>();
  inputs.betaRound = word<ElementType>(json, "beta_round");
  inputs.qkNorm = word<QkNorm>(json, "qk_norm");
  inputs.normEps = json.value("norm_eps", 0.0);
  const Json &scale = json.at("scale");
  if (scale.is_number())
    inputs.scale = scale.get<double>();
  else
    inputs.scale = scale == "one" ? 1 : 1 / std::sqrt(double(heads.keyDim));
  inputs.pad = word<PadPolicy>(json, "pad");
  return inputs;
}

StateSpec convertState(const Json &json) {
  StateSpec state;
  state.codes = word<ElementType>(json, "codes");
  if (json.contains("scale"))
    for (const Json &scale : json.at("scale"))
      state.scales.push_back(
          {word<Axis>(scale, "axis"), word<ScaleFit>(scale, "fit"),
           word<ElementType>(scale, "type"),
           scale.contains("block") ? whole(scale, "block") : 0});
  if (json.contains("rotate"))
    state.rotation = word<Rotation>(json, "rotate");
  if (json.contains("rotate_block"))
    state.rotationBlock = whole(json, "rotate_block");
  if (json.contains("round"))
    state.rounding = word<Rounding>(json, "round");
  if (json.contains("bits")) {
    state.bits.mean = json.at("bits").at("mean").get<double>();
    state.bits.by = word<BitsRule>(json.at("bits"), "by");
    state.bits.pivots = whole(json.at("bits"), "pivots");
  } else if (json.contains("plan")) {
    state.bits.by = BitsRule::Lifetime;
  }
  return state;
}

WindowSpec convertWindow(const Json &json, ElementType codes) {
  WindowSpec window;
  window.length = whole(json, "length");
  window.compensators = whole(json, "compensators");
  window.compensatorType = word<ElementType>(json, "compensator_type");
  window.compensatorRounds = whole(json, "compensator_rounds");
  // Records never hold less than the codes do.
  if (json.at("records") == "auto")
    window.records =
        codes == ElementType::F32 ? ElementType::F32 : ElementType::F16;
  else
    window.records = word<ElementType>(json, "records");
  return window;
}

} // namespace

DecodeSpec convert(const Json &document) {
  DecodeSpec spec;
  spec.heads = convertHeads(document.at("heads"));
  spec.inputs = convertInputs(document.at("inputs"), spec.heads);
  spec.state = convertState(document.at("state"));
  spec.window = convertWindow(document.at("window"), spec.state.codes);
  spec.tokensPerStep = whole(document, "tokens_per_step");
  return spec;
}

} // namespace decant::spec
