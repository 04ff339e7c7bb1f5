//===- TargetInfo.h - what a machine offers ---------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_TARGETINFO_H
#define DECANT_CORE_TARGETINFO_H

#include "decant/Core/Status.h"

#include <string>
#include <vector>

namespace decant {

enum class TargetKind { Cpu, Nvidia };

/// Asked by name, never by arithmetic on a version.
enum class Feature {
  BulkCopy,        // cp.async.bulk with mbarriers
  Clusters,        // thread block clusters
  DependentLaunch, // griddepcontrol
  Fp8Convert,      // cvt to and from e4m3/e5m2
  Fp4Convert,      // cvt to and from e2m1, e2m3, e3m2
  PackedF32,       // f32x2 arithmetic
  WideLoads,       // 32-byte loads
};

struct TargetInfo {
  std::string name; // "sm_90a", "x86-64"
  TargetKind kind = TargetKind::Cpu;
  std::string arch; // LLVM's -mcpu
  int ptxIsa = 0;   // 80 for PTX ISA 8.0: the lowest that the kernels need
  int computeMajor = 0, computeMinor = 0; // devices that load this image
  bool forwardCompatible = false; // plain sm_XY PTX runs on later devices too
  int maxSharedBytes = 0;         // opt-in shared memory per block
  int maxThreads = 1;             // per block that the simt strategy uses
  int maxBlocksPerSm = 1;         // that can be resident
  std::vector<Feature> features;

  bool has(Feature feature) const;
};

/// All targets, in order of age; the host is "x86-64".
const std::vector<TargetInfo> &knownTargets();
/// The target named `name`, or an error that lists the known ones.
Expected<TargetInfo> lookupTarget(const std::string &name);
/// The best target for a device of compute capability major.minor: its own
/// "a" target, its plain target, or the newest forward-compatible one below.
Expected<TargetInfo> targetForDevice(int major, int minor);

} // namespace decant

#endif // DECANT_CORE_TARGETINFO_H
