//===- SyntheticLayer.h - inputs and buffers of one layer -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random inputs with the statistics of a trained layer's gates (retention from
// 0.01 to 0.9999), held on a device together with a pool of slots whose unused
// bytes are poisoned, so that a stray write shows.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_BENCHMARKS_SYNTHETICLAYER_H
#define DECANT_BENCHMARKS_SYNTHETICLAYER_H

#include "decant/Core/DecodeSpec.h"
#include "decant/Runtime/Program.h"

#include <cstdint>
#include <vector>

namespace decant {

/// One token of every row, in the spec's element types (bf16 q, k, v; f32
/// gates).
struct TokenInputs {
  std::vector<uint16_t> q, k, v;
  std::vector<float> decay, beta;
};

/// Token `token` of `rows` rows; the same numbers whatever device runs it.
TokenInputs makeToken(const DecodeSpec &spec, bool vectorDecay, int64_t rows,
                      int token);

/// Which slot each row uses, and where the pool's slots are.
struct SlotPlan {
  std::vector<int32_t> slots; // -1 marks a padding row
  int64_t count = 0;
  int64_t stride = 0;

  /// Rows in shuffled slots, every seventh row padding (none for one row), and
  /// the pool's last slot, which begins beyond `reach` bytes, in use.
  static SlotPlan shuffled(int64_t rows, int64_t slotBytes, int64_t reach);
  /// Row i in slot i, nothing else in the pool.
  static SlotPlan inOrder(int64_t rows, int64_t slotBytes);
};

/// A program with a pool and the buffers of one step.
class LayerRun {
public:
  static Expected<LayerRun> create(const DecodeSpec &spec,
                                   std::shared_ptr<Device> device,
                                   const Program &program, SlotPlan plan);

  /// Copies a token's inputs to the device and runs the step.
  Status upload(const TokenInputs &inputs);
  Status setSlots(const std::vector<int32_t> &slots);
  Status step(StreamHandle stream = nullptr);
  StepCall call(StreamHandle stream) const;

  /// The outputs of the last step, [rows, heads, value dim].
  Expected<std::vector<float>> outputs() const;
  Expected<std::vector<uint8_t>> slot(int32_t number) const;
  /// Ok when no byte outside the slots in use has changed.
  Status checkPoison() const;
  SlotPool pool() const;
  const SlotPlan &slotPlan() const { return plan; }
  const int32_t *deviceSlots() const {
    return static_cast<const int32_t *>(slotNumbers.data());
  }

private:
  Expected<std::vector<uint8_t>> bytes(int64_t offset, int64_t count) const;

  std::shared_ptr<Device> device;
  const Program *program = nullptr;
  SlotPlan plan;
  int64_t outputs_ = 0; // elements
  DeviceBuffer poolMemory, slotNumbers, q, k, v, decay, beta, out;
};

} // namespace decant

#endif // DECANT_BENCHMARKS_SYNTHETICLAYER_H
