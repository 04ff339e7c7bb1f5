//===- Program.h - a layer's kernels, ready to be called ------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a device, a decode image and (for pack and unpack) a transfer image. Out:
// calls that a host engine makes. Of several decode images, which all work on
// the same slots, each call runs the one that the rules give to its number of
// rows. Every call checks all of its arguments on the
// host before it does anything, so a refused call has changed nothing. All work
// is asynchronous on the caller's stream. No call of a made Program allocates
// device memory, compiles or waits; step, flush, pack and unpack do not
// allocate host memory either. All are safe inside a CUDA graph capture, and
// may be made from several threads at once.
//
// Lifetime: a Program outlives the work and the captured graphs that use it.
// Strides are in elements unless their name says bytes; 0 is the packed
// default. Strides and offsets are 64-bit.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_PROGRAM_H
#define DECANT_RUNTIME_PROGRAM_H

#include "decant/Runtime/BatchRules.h"
#include "decant/Runtime/Device.h"

#include <optional>

namespace decant {

/// Where the slots of a layer live: `count` slots, `strideBytes` apart.
struct SlotPool {
  void *base = nullptr;    // device, aligned to ProgramInfo::slotAlign
  int64_t strideBytes = 0; // 0 is slotBytes; a multiple of slotAlign
  int64_t count = 0;       // 0 is unknown: then nothing can check its end
};

/// Which slot each row of a batch works on.
struct SlotRows {
  const int32_t *slots = nullptr; // device, one per row
  int64_t stride = 0;             // between two rows' numbers, 0 is 1
  int64_t rows = 0;
};

/// A tensor with one row per row of the batch.
struct RowTensor {
  const void *data = nullptr; // device
  int64_t stride = 0;         // between rows
};

/// An input of a user's own rule, by the name that the rule gives it.
struct NamedTensor {
  const char *name = nullptr;
  RowTensor tensor;
};

/// One token for each row. Fields that the kernel does not take stay empty:
/// either qkv or q, k and v are taken; aLog and dtBias go with two decay forms.
///
/// A program of several tokens per step takes cuSeqlens: row i of the batch has
/// rows cuSeqlens[i] .. cuSeqlens[i + 1] - 1 of the inputs and of out, 0 to
/// tokensPerStep of them (more are not looked at).
struct StepCall {
  SlotPool pool;
  SlotRows rows;
  const int32_t *cuSeqlens = nullptr; // device, [rows + 1]
  RowTensor qkv, q, k, v, decay, beta;
  const void *aLog = nullptr;
  const void *dtBias = nullptr;
  void *out = nullptr;
  int64_t outStride = 0;
  const NamedTensor *extra = nullptr;
  int extraCount = 0;
  StreamHandle stream = nullptr;
};

/// Makes the first accepted[i] tokens of row i's last step part of its sequence
/// and forgets the others.
struct CommitCall {
  SlotPool pool;
  SlotRows rows;
  const int32_t *accepted = nullptr; // device, [rows]
  StreamHandle stream = nullptr;
};

/// Folds the windows of these rows, however full they are. Tokens that no
/// commit has accepted are forgotten.
struct FlushCall {
  SlotPool pool;
  SlotRows rows;
  StreamHandle stream = nullptr;
};

enum class DenseOrder { KeyValue, ValueKey }; // the last axis is contiguous

/// Dense states: [rows, heads, K, V] or [rows, heads, V, K].
struct DenseCall {
  SlotPool pool;
  SlotRows rows;
  void *dense = nullptr;               // read by pack, written by unpack
  ElementType type = ElementType::F32; // F32 or BF16
  DenseOrder order = DenseOrder::KeyValue;
  int64_t rowStride = 0, headStride = 0;
  StreamHandle stream = nullptr;
};

/// Slot numbers on the host; padding has no meaning here.
struct ZeroCall {
  SlotPool pool;
  const int32_t *slots = nullptr; // host, read before the call returns
  int64_t count = 0;
  StreamHandle stream = nullptr;
  /// Host, [count]: the sequences' seeds of stochastic rounding; null: 0.
  const uint32_t *seeds = nullptr;
};

/// Copies slot sources[i] of `from` over slot targets[i] of `to`, in the order
/// given: a slot may be a target first and a source later.
struct CopyCall {
  SlotPool from, to;
  const int32_t *sources = nullptr; // host
  const int32_t *targets = nullptr; // host, each slot once
  int64_t count = 0;
  StreamHandle stream = nullptr;
};

struct ProgramInfo {
  std::string specName, target;
  int64_t slotBytes = 0;
  int64_t slotAlign = kSlotAlign; // of a pool's base and stride
  int64_t headBytes = 0;
  int heads = 0;
  int keyDim = 0, valueDim = 0;
  int window = 1; // tokens
  int compensators = 0;
  int tokensPerStep = 1; // most of a row; beyond 1 a commit follows each step
  PadPolicy pad = PadPolicy::Negative;
  int64_t stateBytesPerHead = 0; // codes, scales and compensators
  double bitsPerElement = 0;     // the same, per element of the state
  int64_t maxRows = 0;           // that one step of any variant may have
  bool canTransfer = false;      // pack and unpack were given
  bool stepFolds = false;        // every step kernel folds full windows itself
  bool tensorCores =
      false; // some variant's, which form sums in their own order
};

/// What a Program is made of. Variants are decode images of one spec whose
/// schedules differ; slots, code order and arguments are the same, so that a
/// sequence may be decoded by one and then by another. Outputs are then equal
/// to the bit only where the variants form sums in the same order.
struct ProgramImages {
  std::vector<KernelImage> decode;
  std::vector<BatchRule> rules = {{kAnyRows, 0}};
  std::optional<KernelImage> transfer;
};

class ArgTable;
struct DecodeVariant;

class Program {
public:
  /// Loads every variant: a launch loads and compiles nothing, whatever its
  /// number of rows, and one that is captured in a graph stays what it was.
  static Expected<std::unique_ptr<Program>>
  create(std::shared_ptr<Device> device, ProgramImages images,
         const LoadOptions &options = {});
  /// Of one variant.
  static Expected<std::unique_ptr<Program>>
  create(std::shared_ptr<Device> device, KernelImage decode,
         std::optional<KernelImage> transfer = std::nullopt,
         const LoadOptions &options = {});
  ~Program();

  const ProgramInfo &info() const { return facts; }
  Device &device() const { return *target; }
  const SlotLayout &layout() const;
  /// What step takes: names, types, alignment (what the strictest variant asks
  /// for) and row width.
  const std::vector<KernelArg> &stepArguments() const { return stepArgs; }
  const std::vector<BatchRule> &rules() const { return batchRules; }
  int variantCount() const { return int(variants.size()); }
  /// All but the code of variant 0 .. variantCount() - 1.
  const KernelImage &variant(int number) const;
  /// Of every entry of all images.
  std::vector<KernelResources> resources() const;

  /// Why step would refuse this call; host only, does nothing.
  Status supported(const StepCall &call) const;

  /// With several tokens per step, a window without room for a row's tokens is
  /// folded before them, and the tokens are drafts: a step that no commit
  /// follows has changed nothing but what the next one overwrites.
  Status step(const StepCall &call) const;
  /// Refused where a step decodes one token, which needs no commit.
  Status commit(const CommitCall &call) const;
  Status flush(const FlushCall &call) const;
  Status pack(const DenseCall &call) const;
  Status unpack(const DenseCall &call) const;
  Status zero(const ZeroCall &call) const;
  Status copy(const CopyCall &call) const;

  /// For debugging: `slots` is a host copy of a batch's slot numbers. Refuses a
  /// slot that two rows share, and one outside 0 .. slotCount - 1 that the pad
  /// policy does not make a padding row.
  Status checkSlots(const int32_t *slots, int64_t rows, int64_t stride,
                    int64_t slotCount) const;

  /// For debugging, of a program of several tokens per step: `cuSeqlens` is a
  /// host copy of a step's, `accepted` one of its commit's, or null. Refuses
  /// offsets that go down, more tokens than a step decodes, and accepted counts
  /// that are negative or beyond the row's tokens.
  Status checkTokens(const int32_t *cuSeqlens, const int32_t *accepted,
                     int64_t rows) const;

private:
  Program();

  Status addVariant(KernelImage image, const LoadOptions &options);
  Status addTransfer(KernelImage image, const LoadOptions &options);
  const DecodeVariant &variantFor(int64_t rows) const;
  Status gatherStep(const StepCall &call, const DecodeVariant &variant,
                    ArgValue *stepArgs, ArgValue *commitArgs) const;
  Status runDense(const ArgTable *table, const DenseCall &call) const;

  std::shared_ptr<Device> target;
  ProgramInfo facts;
  std::vector<KernelArg> stepArgs;
  std::vector<BatchRule> batchRules;
  std::vector<std::unique_ptr<DecodeVariant>> variants;
  std::unique_ptr<LoadedImage> transfer;
  std::unique_ptr<ArgTable> packF32, packBf16, unpackF32, unpackBf16;
};

} // namespace decant

#endif // DECANT_RUNTIME_PROGRAM_H
