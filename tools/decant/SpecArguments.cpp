//===- SpecArguments.cpp - the SPEC that a command takes ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecArguments.h"

using namespace decant;
using namespace decant::tool;

void decant::tool::addSpecOverrides(CLI::App &app,
                                    std::vector<std::string> &overrides) {
  // One value each: a list would swallow the SPEC behind it.
  app.add_option("--set", overrides,
                 "Override one field, for instance --set window.length=1; may "
                 "be repeated")
      ->option_text("PATH=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void decant::tool::addSpecArguments(CLI::App &app, SpecSource &source,
                                    const std::string &what, SpecNeed need) {
  app.add_option("SPEC", source.spec, what)
      ->required(need == SpecNeed::Required)
      ->option_text(" ");
  addSpecOverrides(app, source.overrides);
}
