//===- DeviceMachine.h - how fast a device can be ---------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_DEVICEMACHINE_H
#define DECANT_LIB_TUNE_DEVICEMACHINE_H

#include "Tune/Roofline.h"
#include "decant/Runtime/Device.h"

namespace decant::tune {

/// Of a GPU: its multiprocessors, and the bandwidth that kernels measure, which
/// takes bench::kReadBytes of its memory for a moment; where they are not free,
/// the data sheet's. Nothing is ruled out by the bandwidth of a host.
Expected<Machine> machineOf(std::shared_ptr<Device> device,
                            const TargetInfo &target, const std::string &name);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_DEVICEMACHINE_H
