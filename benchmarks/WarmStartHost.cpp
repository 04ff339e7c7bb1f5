//===- WarmStartHost.cpp - the devices of decant-warm-start-host ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarmStart.h"
#include "decant/Engine.h"

using namespace decant;

Expected<std::shared_ptr<Device>>
decant::bench::openWarmDevice(const std::string &name) {
  DECANT_ASSIGN(Engine engine, Engine::create(EngineOptions()));
  return engine.openDevice(name);
}
