//===- SyntheticLayer.h - a layer's buffers on a device -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program with a pool of slots and the buffers of its rows. Slots in use lie
// scattered in the pool, and bytes that nothing may write are poisoned, so that
// a stray write shows.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_SYNTHETICLAYER_H
#define DECANT_LIB_BENCH_SYNTHETICLAYER_H

#include "TokenInputs.h"
#include "decant/Runtime/Program.h"

namespace decant::bench {

/// Which slot each row uses, and where the pool's slots are.
struct SlotPlan {
  std::vector<int32_t> slots; // -1 marks a padding row
  int64_t count = 0;
  int64_t stride = 0;

  /// Rows in shuffled slots, every seventh row padding (none for one row), and
  /// the pool's last slot, which begins beyond `reach` bytes, in use.
  static SlotPlan shuffled(int64_t rows, int64_t slotBytes, int64_t reach);
  /// Rows in shuffled slots of a pool with one slot more, number 0, which some
  /// pad policies keep for padding. No row is padding.
  static SlotPlan dense(int64_t rows, int64_t slotBytes);
};

/// A part of a layer's rows: which slots they use, and whose inputs and
/// outputs.
struct RowRange {
  int64_t firstSlot = 0, firstInput = 0, rows = 0;
};

class LayerRun {
public:
  /// All slots in use are those of empty sequences.
  static Expected<LayerRun> create(const DecodeSpec &spec,
                                   std::shared_ptr<Device> device,
                                   const Program &program, SlotPlan plan);
  /// What create() with a dense plan of `rows` and upload() will allocate.
  static int64_t bytesNeeded(const Program &program, int64_t rows);

  /// Steps go to another program of the same slot layout from now on; it must
  /// outlive the run.
  void use(const Program &other) { program = &other; }

  /// Copies a token's inputs to the device, row i % inputs.rows to row i.
  Status upload(const TokenInputs &inputs);
  Status setSlots(const std::vector<int32_t> &slots);
  Status zeroSlots();

  /// Steps all rows.
  Status step(StreamHandle stream = nullptr) const;
  Status step(const RowRange &range, StreamHandle stream) const;

  /// A step's call; `extra` owns what the call points to.
  struct BoundCall {
    StepCall call;
    std::vector<NamedTensor> extra;
  };
  BoundCall bind(const RowRange &range, StreamHandle stream) const;

  /// The outputs of the last step, [rows, heads, value dim].
  Expected<std::vector<float>> outputs() const;
  Expected<std::vector<uint8_t>> slot(int32_t number) const;
  /// Ok when no byte outside the slots in use has changed.
  Status checkPoison() const;
  SlotPool pool() const;
  const SlotPlan &slotPlan() const { return plan; }
  int64_t rows() const { return int64_t(plan.slots.size()); }
  const int32_t *deviceSlots() const {
    return static_cast<const int32_t *>(slotNumbers.data());
  }

private:
  Expected<std::vector<uint8_t>> bytes(int64_t offset, int64_t count) const;

  /// An input on the device.
  struct Input {
    std::string name;
    int64_t rowBytes = 0; // 0: shared by all rows
    DeviceBuffer memory;
  };

  std::shared_ptr<Device> device;
  const Program *program = nullptr;
  SlotPlan plan;
  ElementType outputType = ElementType::BF16;
  int64_t outputWidth = 0; // elements of a row
  DeviceBuffer poolMemory, slotNumbers, out;
  std::vector<Input> inputs;
};

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_SYNTHETICLAYER_H
