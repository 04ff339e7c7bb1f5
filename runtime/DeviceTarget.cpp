//===- DeviceTarget.cpp - which target a device gets ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/DeviceTarget.h"

#include "decant/Runtime/Cuda.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;

namespace {

std::pair<int, int> capabilityOf(const TargetInfo &target) {
  return {target.computeMajor, target.computeMinor};
}

/// Targets whose PTX the device runs, the best first: the table is in order of
/// age, and of one capability has the one with more features last.
std::vector<TargetInfo> candidates(const DeviceInfo &device) {
  const std::pair present(device.computeMajor, device.computeMinor);
  std::vector<TargetInfo> found;
  for (const TargetInfo &target : knownTargets()) {
    const std::pair wanted = capabilityOf(target);
    const bool own = wanted == present;
    const bool later = target.forwardCompatible && wanted < present;
    if (target.kind == TargetKind::Nvidia && (own || later))
      found.push_back(target);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

} // namespace

Expected<DeviceTarget> decant::targetOf(const DeviceInfo &device) {
  if (device.kind == TargetKind::Cpu) {
    DECANT_ASSIGN(TargetInfo target, lookupTarget("x86-64"));
    return DeviceTarget{std::move(target), ""};
  }
  const std::vector<TargetInfo> found = candidates(device);
  if (found.empty())
    return Status::unavailable(fmt::format(
        "device {} ({}): compute capability {}.{} is older than 8.0, the "
        "oldest that Decant compiles for",
        device.ordinal, device.name, device.computeMajor, device.computeMinor));
  Status refusal;
  for (const TargetInfo &target : found) {
    const Status readable = checkPtxIsa(target.ptxIsa, device.driverVersion)
                                .within("target " + target.name);
    if (!readable.ok()) {
      refusal = refusal.ok() ? readable : refusal;
      continue;
    }
    DeviceTarget result{target, ""};
    const std::pair present(device.computeMajor, device.computeMinor);
    if (!refusal.ok())
      result.note = fmt::format("{}; kernels are those of {} instead",
                                refusal.message(), target.name);
    else if (capabilityOf(target) != present)
      result.note = fmt::format(
          "compute capability {}.{} of {} is not one that this build knows; "
          "kernels are those of {}, the nearest generic target",
          device.computeMajor, device.computeMinor, device.name, target.name);
    return result;
  }
  return refusal;
}

std::string decant::linkedTarget(const std::string &target,
                                 const DeviceInfo &device) {
  const std::pair present(device.computeMajor, device.computeMinor);
  for (const TargetInfo &known : knownTargets())
    if (known.name == target && capabilityOf(known) == present)
      return target;
  return fmt::format("sm_{}{}", device.computeMajor, device.computeMinor);
}
