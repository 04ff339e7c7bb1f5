//===- DeviceClass.cpp - which devices may share a record -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Cuda.h"
#include "decant/Tune/RecordStore.h"

#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

using namespace decant;

std::string decant::driverVersionIn(const std::string &text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ..."; an
  // open kernel module has other words before the number.
  std::istringstream words(text.substr(0, text.find('\n')));
  for (std::string word; words >> word;) {
    const bool number =
        word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos &&
        std::isdigit(static_cast<unsigned char>(word[0]));
    if (number)
      return word;
  }
  return "";
}

std::string decant::bandwidthClass(double bytesPerSecond) {
  if (!(bytesPerSecond > 0))
    return "other";
  const double unit = std::pow(10, std::floor(std::log10(bytesPerSecond)) - 1);
  const double value = std::round(bytesPerSecond / unit) * unit;
  return value >= 1e12 ? fmt::format("{:.2g} TB/s", value * 1e-12)
                       : fmt::format("{:.0f} GB/s", value * 1e-9);
}

Expected<DeviceClass> decant::deviceClassOf(const Device &device,
                                            const std::string &target) {
  const DeviceInfo &info = device.info();
  DeviceClass result;
  result.name = info.name;
  result.target = target;
  if (info.kind == TargetKind::Cpu)
    return result;
  DECANT_ASSIGN(const CudaMemory memory, cudaMemory(device));
  result.memory = bandwidthClass(memory.bytesPerSecond);
  std::ifstream file("/proc/driver/nvidia/version");
  std::stringstream text;
  text << file.rdbuf();
  result.driver = driverVersionIn(text.str());
  // Inside containers the file may be missing; the CUDA version is there.
  if (result.driver.empty())
    result.driver = "CUDA " + cudaVersionText(info.driverVersion);
  return result;
}
