//===- PtxIsa.cpp - which driver reads which PTX --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The release table of the PTX ISA manual. A driver refuses newer PTX with an
// error that names neither version, so the runtime asks first.
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Cuda.h"

#include <fmt/format.h>

using namespace decant;

namespace {

struct PtxRelease {
  int ptxIsa, cudaVersion;
};
constexpr PtxRelease kReleases[] = {
    {70, 11000}, {71, 11010}, {72, 11020}, {73, 11030}, {74, 11040},
    {75, 11050}, {76, 11060}, {77, 11070}, {78, 11080}, {80, 12000},
    {81, 12010}, {82, 12020}, {83, 12030}, {84, 12040}, {85, 12050},
    {86, 12070}, {87, 12080}, {88, 12090}, {90, 13000}, {91, 13010},
};

} // namespace

std::string decant::cudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Status decant::checkPtxIsa(int ptxIsa, int driverVersion) {
  // The first release that is not older. What is newer than the table is left
  // to the driver, which may be newer than this build too.
  for (const PtxRelease &release : kReleases) {
    if (release.ptxIsa < ptxIsa)
      continue;
    if (release.cudaVersion <= driverVersion)
      return {};
    return Status::unavailable(fmt::format(
        "the image is PTX ISA {}.{}, which needs the driver of CUDA {} or "
        "newer; the installed driver supports CUDA {}",
        ptxIsa / 10, ptxIsa % 10, cudaVersionText(release.cudaVersion),
        cudaVersionText(driverVersion)));
  }
  return {};
}
