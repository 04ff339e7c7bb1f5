//===- DeviceTarget.h - which target a device gets ------------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_DEVICETARGET_H
#define DECANT_RUNTIME_DEVICETARGET_H

#include "decant/Core/TargetInfo.h"
#include "decant/Runtime/Device.h"

namespace decant {

struct DeviceTarget {
  TargetInfo target;
  /// Why it is not the device's own target, empty where it is.
  std::string note;
};

/// The best target that both the device and its driver take: the device's own,
/// else the nearest older one whose PTX runs on later devices, so that a device
/// or a driver that this build does not know still gets kernels.
Expected<DeviceTarget> targetOf(const DeviceInfo &device);

/// What a cubin that was linked on `device` from an image for `target` is for:
/// the same target if it is the device's own, else the device's plain name.
std::string linkedTarget(const std::string &target, const DeviceInfo &device);

} // namespace decant

#endif // DECANT_RUNTIME_DEVICETARGET_H
