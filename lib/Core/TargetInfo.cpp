//===- TargetInfo.cpp - the table of known targets ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Core/TargetInfo.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;

namespace {

/// A block of the simt strategy uses at most this many threads, so that every
/// thread may have 255 of an SM's 64 Ki registers: a fold needs most of them.
constexpr int kSimtThreads = 256;

/// movmatrix, with which strategy mma transposes fragments, came with this PTX
/// ISA; older targets would do with 7.0.
constexpr int kMovmatrixIsa = 78;

// Shared memory per block: CUDA programming guide, table of compute
// capabilities ("maximum amount of shared memory per thread block"), as blocks
// per SM ("maximum number of resident blocks per SM").
std::vector<TargetInfo> makeTargets() {
  using F = Feature;
  const std::vector<F> hopper = {F::BulkCopy, F::Clusters, F::DependentLaunch,
                                 F::Fp8Convert};
  const std::vector<F> blackwell = {F::BulkCopy,        F::Clusters,
                                    F::DependentLaunch, F::Fp8Convert,
                                    F::PackedF32,       F::WideLoads};
  std::vector<F> blackwellFp4 = blackwell;
  blackwellFp4.push_back(F::Fp4Convert);
  auto gpu = [](const char *name, int ptxIsa, int major, int minor,
                bool forward, int sharedBytes, int blocks,
                std::vector<F> features) {
    TargetInfo target;
    target.name = target.arch = name;
    target.kind = TargetKind::Nvidia;
    target.ptxIsa = ptxIsa;
    target.computeMajor = major;
    target.computeMinor = minor;
    target.forwardCompatible = forward;
    target.maxSharedBytes = sharedBytes;
    target.maxThreads = kSimtThreads;
    target.maxBlocksPerSm = blocks;
    target.features = std::move(features);
    return target;
  };
  TargetInfo host;
  host.name = "x86-64";
  host.kind = TargetKind::Cpu;
  host.arch = "native";
  host.maxSharedBytes = 1 << 20; // a block's scratch lives on the stack
  // Lanes run one after the other, to test the tile programs of GPUs; the
  // default schedule has one.
  host.maxThreads = kSimtThreads;
  return {
      host,
      gpu("sm_80", kMovmatrixIsa, 8, 0, true, 163 * 1024, 32, {}),
      gpu("sm_86", kMovmatrixIsa, 8, 6, true, 99 * 1024, 16, {}),
      gpu("sm_89", 78, 8, 9, true, 99 * 1024, 24, {F::Fp8Convert}),
      gpu("sm_90", 80, 9, 0, true, 227 * 1024, 32, hopper),
      gpu("sm_90a", 80, 9, 0, false, 227 * 1024, 32, hopper),
      gpu("sm_100", 86, 10, 0, true, 227 * 1024, 32, blackwell),
      gpu("sm_100a", 86, 10, 0, false, 227 * 1024, 32, blackwellFp4),
      gpu("sm_103a", 88, 10, 3, false, 227 * 1024, 32, blackwellFp4),
      gpu("sm_120", 87, 12, 0, true, 99 * 1024, 24, blackwell),
      gpu("sm_120a", 87, 12, 0, false, 99 * 1024, 24, blackwellFp4),
      gpu("sm_121a", 88, 12, 1, false, 99 * 1024, 24, blackwellFp4),
  };
}

} // namespace

bool TargetInfo::has(Feature feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

const std::vector<TargetInfo> &decant::knownTargets() {
  static const std::vector<TargetInfo> targets = makeTargets();
  return targets;
}

Expected<TargetInfo> decant::lookupTarget(const std::string &name) {
  std::vector<std::string> names;
  for (const TargetInfo &target : knownTargets()) {
    if (target.name == name)
      return target;
    names.push_back(target.name);
  }
  return Status::invalid(
      fmt::format("target: unknown target '{}'; known are {}", name,
                  fmt::join(names, ", ")));
}

Expected<TargetInfo> decant::targetForDevice(int major, int minor) {
  const TargetInfo *best = nullptr;
  for (const TargetInfo &target : knownTargets()) {
    if (target.kind != TargetKind::Nvidia)
      continue;
    const bool same =
        target.computeMajor == major && target.computeMinor == minor;
    const bool older = std::pair(target.computeMajor, target.computeMinor) <=
                       std::pair(major, minor);
    if (same || (older && target.forwardCompatible))
      if (!best || std::pair(target.computeMajor, target.computeMinor) >=
                       std::pair(best->computeMajor, best->computeMinor))
        best = &target;
  }
  if (best)
    return *best;
  return Status::unavailable(
      fmt::format("device: compute capability {}.{} is older than 8.0, the "
                  "oldest that Decant compiles for",
                  major, minor));
}
