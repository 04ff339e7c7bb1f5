//===- Layer.h - a compiled layer on the CPU device -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a spec and where its rows and slots lie in memory. Out: a program of the
// engine that all tests of this folder share, with a poisoned pool and one
// buffer per argument. Everything around what a kernel may write is poisoned
// too, so that a stray write shows.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_LAYER_H
#define DECANT_TEST_UNIT_EXECUTION_LAYER_H

#include "Specs.h"

#include <map>

namespace decant::test {

/// What one token brings to all rows, by the kernel's argument names (q, k and
/// v also in the packed layout): [rows, heads, width].
using Token = std::map<std::string, std::vector<double>>;

/// Where the rows of a batch lie.
struct Placement {
  std::vector<int32_t> slots; // of the rows
  int64_t slotCount = 0;      // of the pool, 0: one more than the largest
  bool spread = false;        // strides beyond the packed ones, and different
};
/// Rows 0 .. rows - 1 in slots 0 .. rows - 1.
Placement inOrder(int64_t rows);

enum class Kernels { Decode, All }; // without or with pack and unpack

/// Bytes with an alignment of 16 and no more.
class AlignedBytes {
public:
  explicit AlignedBytes(int64_t size = 0);
  uint8_t *data() { return memory.data() + start; }
  const uint8_t *data() const { return memory.data() + start; }
  int64_t size() const { return length; }
  friend bool operator==(const AlignedBytes &a, const AlignedBytes &b);

private:
  std::vector<uint8_t> memory;
  int64_t start = 0, length = 0;
};

class Layer {
public:
  Layer(const DecodeSpec &spec, Placement placement,
        Kernels kernels = Kernels::Decode, Engine &engine = sharedEngine(),
        CodeOrder order = CodeOrder::Rows);
  /// With kernels cut by `schedule`.
  Layer(const DecodeSpec &spec, Placement placement, const Schedule &schedule,
        CodeOrder order = CodeOrder::Rows, Kernels kernels = Kernels::All);

  const Program &program() const { return *compiled; }
  const SlotLayout &layout() const { return compiled->layout(); }
  int64_t rows() const { return int64_t(placement.slots.size()); }
  /// For the pool's bytes as they are now; all slots of the rows were zeroed.
  const AlignedBytes &pool() const { return poolBytes; }
  uint8_t *slot(int32_t number);

  /// Decodes one token; returns the outputs [rows, value heads, value dim].
  std::vector<double> step(const Token &token);
  /// Offers each row its tokens, which have one row each; returns the rows'
  /// outputs, [tokens, value heads, value dim]. For several tokens per step.
  std::vector<std::vector<double>>
  draft(const std::vector<std::vector<Token>> &tokens);
  /// Accepts the first of them.
  void commit(const std::vector<int32_t> &accepted);
  void flush();
  /// Dense states of all rows, [rows, value heads, ...] as f32 or bf16 values.
  void pack(const std::vector<double> &states,
            ElementType type = ElementType::F32,
            DenseOrder order = DenseOrder::KeyValue);
  std::vector<double> unpack(ElementType type = ElementType::F32,
                             DenseOrder order = DenseOrder::KeyValue);
  /// The stored states of all rows as the codec reads them, [rows, value heads,
  /// key dim, value dim].
  std::vector<double> states();

  /// What lies beside them, [rows, value heads, vectors, key dim].
  std::vector<double> carried();

  /// Whether every byte that belongs to no row's slot has its poison.
  bool poolGapsIntact() const;
  SlotPool slotPool() { return {poolBytes.data(), strideBytes, count}; }
  SlotRows slotRows() const;

private:
  struct Tensor {
    KernelArg arg;
    int64_t stride = 0; // elements per row; 0 for a tensor of the layer
    AlignedBytes bytes;
  };

  void compile(Engine &engine, Kernels kernels, CompileOptions options);
  void allocate();
  /// From row `first` of the inputs on.
  void write(const Token &token, int64_t first, int64_t rows);
  std::vector<double> readOutputs(int64_t first, int64_t rows);
  void poisonOutputs();
  StepCall call();
  DenseCall denseCall(ElementType type, DenseOrder order);

  DecodeSpec spec;
  Placement placement;
  std::unique_ptr<Program> compiled;
  int64_t strideBytes = 0, count = 0, slotsStride = 1;
  AlignedBytes poolBytes, denseBytes;
  std::vector<int32_t> slotNumbers; // slotsStride apart
  std::vector<int32_t> cuSeqlens;   // of several tokens per step
  std::map<std::string, Tensor> tensors;
  std::vector<NamedTensor> extras;
};

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_LAYER_H
