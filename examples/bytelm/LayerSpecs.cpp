//===- LayerSpecs.cpp - which spec each layer decodes with ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerSpecs.h"

#include "Error.h"

#include <charconv>

using namespace bytelm;

namespace {

constexpr const char *kPlain = "plain";
constexpr const char *kDefaultMethod = "leapquant-int8";

/// "kda=x" or "2:x": x for some layers. Without such a word it is for all.
struct Scoped {
  std::string argument; // for messages
  int layer = -1;       // -1: all
  const char *kind = nullptr;
  std::string value;

  bool covers(int index, const Block &block) const {
    return (layer < 0 || layer == index) &&
           (!kind || std::string(kind) == toString(block.shape.kind));
  }
};

Scoped parseScope(const char *option, const std::string &text, char separator,
                  const Model &model) {
  Scoped scoped;
  scoped.argument = fmt::format("{} {}", option, text);
  scoped.value = text;
  const size_t end = text.find(separator);
  if (end == std::string::npos)
    return scoped;
  const std::string word = text.substr(0, end);
  for (LayerKind kind : {LayerKind::Gdn, LayerKind::Kda})
    if (word == toString(kind))
      scoped.kind = toString(kind);
  const char *last = word.data() + word.size();
  const bool isNumber =
      !word.empty() &&
      std::from_chars(word.data(), last, scoped.layer).ptr == last;
  // A field's value or a file's name may hold the separator.
  if (!scoped.kind && !isNumber) {
    if (option == std::string("--set") || word.find_first_of("./") != word.npos)
      return scoped;
    wrongInput("{}: found '{}' before '{}'; allowed: gdn, kda or a layer from "
               "0 to {}",
               scoped.argument, word, separator, model.blocks.size() - 1);
  }
  scoped.value = text.substr(end + 1);
  for (size_t i = 0; i < model.blocks.size(); ++i)
    if (scoped.covers(int(i), model.blocks[i]))
      return scoped;
  wrongInput("{}: no layer of this model is '{}'; it has layers 0 to {}",
             scoped.argument, word, model.blocks.size() - 1);
}

std::vector<Scoped> parseScopes(const char *option,
                                const std::vector<std::string> &texts,
                                char separator, const Model &model) {
  std::vector<Scoped> result;
  for (const std::string &text : texts)
    result.push_back(parseScope(option, text, separator, model));
  return result;
}

bool isMethod(const std::string &name) {
  int32_t count = 0;
  check(decantPresetGetCount(&count), "");
  for (int32_t i = 0; i < count; ++i) {
    DecantPresetInfo info = DECANT_INIT(DecantPresetInfo);
    check(decantPresetGet(i, &info), "");
    if (info.kind == DECANT_PRESET_METHOD && info.name == name)
      return true;
  }
  return false;
}

SpecHandle readSpec(const std::string &spec, std::vector<std::string> fields,
                    const LayerShape &shape, const std::string &context) {
  const bool method = isMethod(spec);
  const std::string base = !method                        ? spec
                           : shape.kind == LayerKind::Gdn ? "bytelm-gdn"
                                                          : "bytelm-kda";
  // The engine computes in fp32, and hands that over unless the user wants to
  // see what rounding does.
  std::vector<std::string> overrides = {"inputs.type=f32", "inputs.output=f32"};
  if (method)
    overrides.push_back("preset=" + spec);
  overrides.insert(overrides.end(), fields.begin(), fields.end());
  // What this engine hands to the kernel (Network.cpp), and of what size: no
  // choice of the spec's.
  for (const std::string &fixed :
       {fmt::format("heads.key={}", shape.keyHeads),
        fmt::format("heads.value={}", shape.valueHeads),
        fmt::format("heads.key_dim={}", shape.dim),
        fmt::format("heads.value_dim={}", shape.dim),
        std::string("heads.map=group"), std::string("inputs.decay=log"),
        std::string("inputs.beta=value"), std::string("inputs.gate_type=f32"),
        std::string("inputs.qk_norm=l2_eps_inside"),
        std::string("inputs.norm_eps=1e-6"),
        std::string("inputs.scale=rsqrt_key_dim"),
        std::string("tokens_per_step=1")})
    overrides.push_back(fixed);
  std::vector<const char *> texts;
  for (const std::string &text : overrides)
    texts.push_back(text.c_str());
  DecantSpec *read = nullptr;
  check(decantSpecReadFile(base.c_str(), texts.data(), texts.size(), &read),
        context);
  return SpecHandle(read);
}

} // namespace

LayerSpecs::LayerSpecs(const Model &model, const SpecOptions &options)
    : model(model), threads(options.threads) {
  std::vector<std::string> specs = options.specs;
  specs.insert(specs.begin(), kDefaultMethod);
  const std::vector<Scoped> all = parseScopes("--spec", specs, '=', model);
  const std::vector<Scoped> fields =
      parseScopes("--set", options.fields, ':', model);
  for (size_t i = 0; i < model.blocks.size(); ++i) {
    const Block &block = model.blocks[i];
    const Scoped *chosen = nullptr;
    for (const Scoped &spec : all)
      if (spec.covers(int(i), block))
        chosen = &spec;
    std::vector<std::string> own;
    for (const Scoped &field : fields)
      if (field.covers(int(i), block))
        own.push_back(field.value);
    Layer layer;
    layer.name = fmt::format("layer {} ({}, {})", i, toString(block.shape.kind),
                             chosen->argument);
    if (chosen->value != kPlain) {
      layer.handle = readSpec(chosen->value, own, block.shape, layer.name);
      if (!host)
        host = std::make_unique<DecantHost>(options.device, threads);
    }
    layers.push_back(std::move(layer));
  }
}

std::vector<std::unique_ptr<LayerStates>> LayerSpecs::states(int rows) {
  std::vector<std::unique_ptr<LayerStates>> result;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerShape &shape = model.blocks[i].shape;
    result.push_back(
        layers[i].handle
            ? host->states(layers[i].handle, layers[i].name, shape, rows)
            : plainStates(shape, rows, threads));
  }
  return result;
}
