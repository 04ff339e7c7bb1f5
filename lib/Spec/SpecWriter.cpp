//===- SpecWriter.cpp - a DecodeSpec as JSON ------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a sound DecodeSpec. Out: a spec file that needs no other file.
//
//===----------------------------------------------------------------------===//
#include "decant/Spec/Plan.h"
#include "decant/Spec/SpecReader.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace decant {

// Fields in the order of the documentation, not of the alphabet.
using Ordered = nlohmann::ordered_json;

static Ordered inputsToJson(const DecodeSpec &spec) {
  const InputSpec &inputs = spec.inputs;
  Ordered json;
  json["type"] = toString(inputs.type);
  json["output"] = toString(inputs.output);
  json["layout"] = toString(inputs.layout);
  json["decay"] = toString(inputs.decay);
  json["gate_type"] = toString(inputs.gateType);
  if (inputs.decay == DecayForm::LowerBound)
    json["lower_bound"] = inputs.lowerBound;
  json["beta"] = toString(inputs.beta);
  json["beta_scale"] = int(inputs.betaScale); // 1 or 2
  json["beta_round"] = toString(inputs.betaRound);
  json["qk_norm"] = toString(inputs.qkNorm);
  if (inputs.qkNorm != QkNorm::None)
    json["norm_eps"] = inputs.normEps;
  // A name only where the reader would compute the very same number.
  if (inputs.scale == 1)
    json["scale"] = "one";
  else if (inputs.scale == 1 / std::sqrt(double(spec.heads.keyDim)))
    json["scale"] = "rsqrt_key_dim";
  else
    json["scale"] = inputs.scale;
  json["pad"] = toString(inputs.pad);
  return json;
}

static Ordered stateToJson(const StateSpec &state, const HeadShape &heads) {
  Ordered json;
  json["codes"] = toString(state.codes);
  for (const ScaleSpec &scale : state.scales) {
    Ordered entry{{"axis", toString(scale.axis)},
                  {"fit", toString(scale.fit)},
                  {"type", toString(scale.type)}};
    if (scale.block)
      entry["block"] = scale.block;
    json["scale"].push_back(std::move(entry));
  }
  if (state.rotation != Rotation::None)
    json["rotate"] = toString(state.rotation);
  if (state.rotationBlock)
    json["rotate_block"] = state.rotationBlock;
  if (state.rounding != Rounding::Nearest)
    json["round"] = toString(state.rounding);
  const RowBits &bits = state.bits;
  if (bits.mean > 0)
    json["bits"] = Ordered{{"mean", bits.mean},
                           {"by", toString(bits.by)},
                           {"pivots", bits.pivots}};
  const bool hasRows = bits.by == BitsRule::Lifetime && !bits.widths.empty();
  if (hasRows || !state.tables.empty()) {
    json["plan"] = Ordered::parse(planToJson(heads, state, ""));
    json["plan"].erase("description");
  }
  return json;
}

std::string specToJson(const DecodeSpec &spec) {
  Ordered json;
  json["decant"] = 1;
  json["name"] = spec.name;
  json["rule"]["name"] = spec.rule.name;
  json["rule"]["text"] = spec.rule.text;
  json["heads"] = Ordered{{"key", spec.heads.key},
                          {"value", spec.heads.value},
                          {"key_dim", spec.heads.keyDim},
                          {"value_dim", spec.heads.valueDim},
                          {"map", toString(spec.heads.map)}};
  json["inputs"] = inputsToJson(spec);
  json["state"] = stateToJson(spec.state, spec.heads);
  json["window"] =
      Ordered{{"length", spec.window.length},
              {"compensators", spec.window.compensators},
              {"compensator_type", toString(spec.window.compensatorType)},
              {"compensator_rounds", spec.window.compensatorRounds},
              {"records", toString(spec.window.records)}};
  json["tokens_per_step"] = spec.tokensPerStep;
  // A spec that a program built may hold any bytes in its labels.
  return json.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

} // namespace decant
