//===- TraceDecoder.h - a trace through a compiled kernel -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a program and a trace. Out: what the kernel made of it, as numbers. The
// trace is one sequence, a batch of one row; its slot lies between two others
// whose bytes must stay as they are.
//
// A program of several tokens per step is offered T, T - 1, ... 1 and again T
// tokens at a time, of which every other time only the first half is accepted,
// so that the second half is offered again.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_TRACEDECODER_H
#define DECANT_TOOLS_TRACEDECODER_H

#include "decant/Reference/TraceView.h"
#include "decant/Runtime/Program.h"

#include <functional>

namespace decant::tool {

struct DecodedTrace {
  std::vector<double> outputs; // [tokens, value heads, value dim]
  std::vector<double> states;  // [value heads, key dim, value dim], at the end
  std::vector<int64_t> folds;  // tokens before each fold of the window
  int64_t steps = 0;
};

struct StepTime {
  double microseconds = 0;
  std::string method; // how it was measured
};

class TraceDecoder {
public:
  /// Uploads the trace. Program, spec and view must outlive the decoder.
  static Expected<TraceDecoder> create(const Program &program,
                                       std::shared_ptr<Device> device,
                                       const DecodeSpec &spec,
                                       const TraceView &view);

  /// Decodes the first `tokens` tokens from an empty state.
  Expected<DecodedTrace> decode(int64_t tokens);
  /// The same up to the last of some points, ascending numbers of tokens. At
  /// each of them `look` is given that number and the states, where a step has
  /// one token.
  using Look = std::function<void(int64_t, const std::vector<double> &)>;
  Expected<DecodedTrace> decode(const std::vector<int64_t> &points,
                                const Look &look);
  /// The time of one step of those tokens. Changes the state.
  Expected<StepTime> measure();

private:
  TraceDecoder(const Program &program, std::shared_ptr<Device> device,
               const DecodeSpec &spec);

  Status uploadInputs(const TraceView &view);
  Expected<DeviceBuffer> upload(const void *bytes, int64_t count);
  Status resetPool();
  /// Offers `count` tokens from `token` on; 1 without several per step.
  Status step(int64_t token, int64_t count, StreamHandle stream);
  Status commit(int64_t accepted, StreamHandle stream);
  Status decodeOneByOne(const std::vector<int64_t> &points, const Look &look,
                        DecodedTrace &result);
  Status decodeSeveral(int64_t tokens, DecodedTrace &result);
  Expected<std::vector<double>> readOutputs(int64_t tokens);
  Expected<std::vector<double>> readStates(int64_t tokens, int64_t fill);
  Status checkHeader(const uint8_t *slot, int64_t tokens, int64_t fill) const;
  Expected<StepTime> measureByGraph();

  /// A tensor of the trace with one row per token.
  struct Input {
    std::string name; // of the kernel's argument
    DeviceBuffer memory;
    int64_t rowBytes = 0;
  };

  const Program *program;
  std::shared_ptr<Device> device;
  const DecodeSpec *spec;
  std::vector<Input> inputs;
  DeviceBuffer aLog, dtBias, slots, pool, outputs;
  DeviceBuffer numbers; // i32 0, 0, 0, 1, 0, 2, ..., 0, T: offsets of one row
  int64_t outputRowBytes = 0;
  int64_t decodedTokens = 0;
  std::vector<double> hostMicroseconds; // of each step, on the CPU
};

} // namespace decant::tool

#endif // DECANT_TOOLS_TRACEDECODER_H
