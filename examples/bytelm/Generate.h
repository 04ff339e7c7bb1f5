//===- Generate.h - text from a prompt --------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_GENERATE_H
#define BYTELM_GENERATE_H

#include "Network.h"

#include <functional>
#include <string>

namespace bytelm {

struct Sampling {
  int bytes = 400;
  double temperature = 0.8; // 0: always the most likely byte
  uint64_t seed = 1;
};

/// Reads the prompt, then hands every new byte to `write`. `network` has one
/// row.
void generate(Network &network, const std::string &prompt,
              const Sampling &sampling, const std::function<void(char)> &write);

} // namespace bytelm

#endif // BYTELM_GENERATE_H
