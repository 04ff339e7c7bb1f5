//===- Specs.cpp - specs and the engine that compiles them ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Specs.h"

#include "decant/Spec/SpecReader.h"

using namespace decant;
using namespace decant::test;

namespace {

const char kBaseSpec[] = R"({
  "decant": 1,
  "name": "execution",
  "rule": "gated_delta",
  "heads": {"key": 1, "value": 2, "key_dim": 32, "value_dim": 24, "map": "group"},
  "inputs": {
    "type": "f32", "output": "f32", "layout": "separate", "decay": "log",
    "beta": "value", "qk_norm": "l2_eps_inside", "scale": "rsqrt_key_dim",
    "pad": "negative"
  },
  "state": {"codes": "f32"},
  "window": {"length": 1, "compensators": 0, "records": "f32"}
})";

} // namespace

void test::require(const Status &status) {
  if (!status.ok())
    throw std::runtime_error(status.message());
}

Engine &test::sharedEngine() {
  static Engine engine = [] {
    EngineOptions options;
    options.threads = 2;
    return valueOf(Engine::create(options));
  }();
  return engine;
}

DecodeSpec test::makeSpec(const std::vector<std::string> &overrides) {
  SpecText text;
  text.text = kBaseSpec;
  return valueOf(readSpecText(text, overrides));
}

DecodeSpec test::makeSpecWithRule(const std::string &rule,
                                  const std::vector<std::string> &overrides) {
  DecodeSpec spec = makeSpec(overrides);
  spec.rule = {"the test's rule", rule};
  return spec;
}
