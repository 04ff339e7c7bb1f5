//===- WarmStartCuda.cpp - the GPUs of decant-warm-start ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarmStart.h"
#include "decant/Runtime/Cuda.h"

#include <charconv>
#include <fmt/format.h>

using namespace decant;

Expected<std::shared_ptr<Device>>
decant::bench::openWarmDevice(const std::string &name) {
  const std::string prefix = "cuda:";
  int ordinal = -1;
  if (name.compare(0, prefix.size(), prefix) == 0)
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(),
                    ordinal);
  if (ordinal < 0)
    return Status::invalid(fmt::format(
        "--device: found \"{}\"; allowed is cuda:N, and cpu with "
        "decant-warm-start-host, which has the compiler's CPU device",
        name));
  DECANT_ASSIGN(auto driver, loadCudaDriver());
  return openCudaDevice(std::move(driver), ordinal);
}
