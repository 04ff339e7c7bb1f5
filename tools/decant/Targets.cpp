//===- Targets.cpp - the target that a command means ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Targets.h"

#include "decant/Engine.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

Expected<TargetInfo> decant::tool::chooseTarget(const std::string &name) {
  if (!name.empty())
    return lookupTarget(name);
  DECANT_ASSIGN(Engine engine, Engine::create(EngineOptions()));
  if (const auto device = engine.openDevice("cuda:0"))
    if (auto target = targetFor(**device))
      return target;
  return lookupTarget("x86-64");
}

std::string decant::tool::targetNames(TargetKind kind) {
  std::vector<std::string> names;
  for (const TargetInfo &target : knownTargets())
    if (target.kind == kind)
      names.push_back(target.name);
  return fmt::format("{}", fmt::join(names, ", "));
}
