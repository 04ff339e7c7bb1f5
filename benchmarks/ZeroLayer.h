//===- ZeroLayer.h - inputs for any program ---------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory for the steps of a program whose spec is not at hand: slots of empty
// sequences, and inputs that are all zero. What a step costs does not depend on
// their values. Needs the runtime alone.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_BENCHMARKS_ZEROLAYER_H
#define DECANT_BENCHMARKS_ZEROLAYER_H

#include "decant/Runtime/Program.h"

namespace decant::bench {

class ZeroLayer {
public:
  static Expected<ZeroLayer> create(std::shared_ptr<Device> device,
                                    const Program &program, int64_t maxRows);

  /// One token of each of the first `rows` rows, and its commit where the
  /// program wants one.
  Status step(const Program &program, int64_t rows, StreamHandle stream) const;

private:
  Expected<void *> zeros(std::shared_ptr<Device> device, int64_t bytes);
  Status addInputs(std::shared_ptr<Device> device, const Program &program,
                   int64_t maxRows);

  std::vector<DeviceBuffer> buffers;
  std::vector<std::string> names; // of a rule's own inputs
  std::vector<NamedTensor> extra;
  StepCall call;
  const int32_t *counts = nullptr; // a one per row, to accept
};

} // namespace decant::bench

#endif // DECANT_BENCHMARKS_ZEROLAYER_H
