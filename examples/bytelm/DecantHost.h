//===- DecantHost.h - states that Decant stores and decodes -----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of this program that a host engine needs for Decant:
//
//     decantEngineCreate, decantEngineOpenDevice      once
//     decantSpecReadText, decantEnginePrepare         per layer: its kernels
//     decantProgramQuery, decantProgramZero           per layer: its slots
//     decantProgramStep                               per layer and token
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_DECANTHOST_H
#define BYTELM_DECANTHOST_H

#include "DeviceMemory.h"
#include "States.h"

#include <decant-c/decant.h>

namespace bytelm {

/// Gives a handle back to Decant.
struct Release {
  void operator()(DecantSpec *spec) const { decantSpecDestroy(spec); }
  void operator()(DecantEngine *engine) const { decantEngineDestroy(engine); }
  void operator()(DecantDevice *device) const { decantDeviceClose(device); }
  void operator()(DecantProgram *program) const {
    decantProgramDestroy(program);
  }
};
using SpecHandle = std::unique_ptr<DecantSpec, Release>;
using EngineHandle = std::unique_ptr<DecantEngine, Release>;
using DeviceHandle = std::unique_ptr<DecantDevice, Release>;
using ProgramHandle = std::unique_ptr<DecantProgram, Release>;

/// Throws what Decant said of a call that failed, behind `what` for context.
void check(DecantStatus status, const std::string &what);

class DecantHost {
public:
  /// `device` is "cpu" or "cuda:N".
  DecantHost(const std::string &device, int threads);

  /// Slots for `rows` sequences of one layer. The host must outlive them.
  std::unique_ptr<LayerStates> states(const SpecHandle &spec,
                                      const std::string &name,
                                      const LayerShape &shape, int rows);
  /// For reports.
  const std::string &deviceName() const { return name; }

private:
  EngineHandle engine;
  DeviceHandle device;
  std::unique_ptr<DeviceMemory> memory;
  std::string name;
};

} // namespace bytelm

#endif // BYTELM_DECANTHOST_H
