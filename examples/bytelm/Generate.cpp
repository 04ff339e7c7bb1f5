//===- Generate.cpp - text from a prompt ----------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Generate.h"

#include <random>

using namespace bytelm;

namespace {

int sample(const Eigen::ArrayXd &logits, double temperature,
           std::mt19937_64 &random) {
  int best = 0;
  const double highest = logits.maxCoeff(&best);
  if (temperature == 0)
    return best;
  const Eigen::ArrayXd weights = ((logits - highest) / temperature).exp();
  // The same for every standard library, which its distributions are not.
  const double uniform = double(random() >> 11) * 0x1p-53;
  double left = uniform * weights.sum();
  for (int byte = 0; byte < weights.size(); ++byte)
    if ((left -= weights[byte]) < 0)
      return byte;
  return best;
}

} // namespace

void bytelm::generate(Network &network, const std::string &prompt,
                      const Sampling &sampling,
                      const std::function<void(char)> &write) {
  std::mt19937_64 random(sampling.seed);
  const auto *bytes = reinterpret_cast<const uint8_t *>(prompt.data());
  const Matrix *logits = &network.forward(bytes, int(prompt.size()));
  int64_t last = int64_t(prompt.size()) - 1;
  for (int i = 0; i < sampling.bytes; ++i) {
    const auto byte =
        uint8_t(sample(logits->row(last).cast<double>().transpose().array(),
                       sampling.temperature, random));
    write(char(byte));
    if (i + 1 < sampling.bytes)
      logits = &network.forward(&byte, 1);
    last = 0;
  }
}
