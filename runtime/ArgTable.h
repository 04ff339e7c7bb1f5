//===- ArgTable.h - from fields to kernel arguments ----------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a kernel entry, once; then the values of a call. Out: the argument vector
// in the kernel's own order, or the name of the argument that is wrong. Names
// are resolved when the table is made, so that a call compares no strings but
// those of a user rule's own inputs.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_ARGTABLE_H
#define DECANT_RUNTIME_ARGTABLE_H

#include "decant/Runtime/Program.h"

namespace decant {

/// Everything that kernels take and that has a fixed name.
enum class Known : int {
  // Pointers. Those from Qkv to Out are row tensors with a stride.
  State,
  Slots,
  CuSeqlens,
  Accepted,
  Qkv,
  Q,
  K,
  V,
  Decay,
  Beta,
  Out,
  ALog,
  DtBias,
  Dense,
  // Numbers.
  StateStride,
  SlotsStride,
  Rows,
  MinFill,
  DenseRow,
  DenseHead,
  DenseKey,
  DenseValue,
  Count
};
constexpr int kKnownCount = int(Known::Count);

/// The fields of one call in a common form.
struct CallValues {
  ArgValue value[kKnownCount] = {};
  int64_t stride[kKnownCount] = {}; // of row tensors
  const NamedTensor *extra = nullptr;
  int extraCount = 0;
  int tokensPerStep = 1; // most rows of row tensors per row of the batch

  ArgValue &operator[](Known name) { return value[int(name)]; }
  const ArgValue &operator[](Known name) const { return value[int(name)]; }
  void setTensor(Known name, const void *data, int64_t rowStride) {
    value[int(name)].pointer = data;
    stride[int(name)] = rowStride;
  }
  int64_t rows() const { return value[int(Known::Rows)].integer; }
};

class ArgTable {
public:
  /// Refuses an entry with an argument that this runtime cannot supply.
  static Expected<std::unique_ptr<ArgTable>> create(const LoadedImage &image,
                                                    const std::string &role);

  const KernelEntry &entry() const { return *kernel; }
  int64_t maxRows() const { return kMaxGridBlocks / kernel->blocksPerRow; }
  /// What the state's base and stride must be a multiple of, 1 without a state.
  int stateAlign() const { return alignOfState; }

  /// Checks rows, pointers and strides and writes the arguments to `args`.
  Status gather(const CallValues &values, ArgValue *args) const;
  /// Refuses a tensor that the caller gives and the kernel does not take.
  Status checkAllTaken(const CallValues &values) const;

  Status launch(int64_t rows, const ArgValue *args, StreamHandle stream) const {
    return image->launch(entryNumber, rows * kernel->blocksPerRow, args,
                         stream);
  }

private:
  enum class Source { Value, RowStride, ExtraData, ExtraStride };
  struct Binding {
    Source source = Source::Value;
    Known name = Known::Count; // Value, RowStride
    const KernelArg *arg = nullptr;
    const KernelArg *tensor = nullptr; // strides: the tensor that they step in
  };

  Expected<Binding> bind(const KernelArg &arg) const;
  const KernelArg *findPointer(const std::string &name) const;
  Status gatherTensor(const KernelArg &arg, const void *data,
                      ArgValue &result) const;
  Status gatherStride(const Binding &binding, int64_t stride, int64_t rows,
                      ArgValue &result) const;
  Status refuseNull(const KernelArg &arg) const;

  const LoadedImage *image = nullptr;
  const KernelEntry *kernel = nullptr;
  int entryNumber = -1;
  int alignOfState = 1;
  int extraCount = 0;
  uint32_t taken = 0; // a bit per Known
  std::vector<Binding> bindings;
};

/// `pointer` is a multiple of `align`, or an error that names the argument, the
/// remainder and what is required.
Status checkAligned(const char *name, const void *pointer, int64_t align);
/// The same for `count` elements of `elementBytes` between two rows.
Status checkStrideAligned(const char *name, int64_t count, int64_t elementBytes,
                          int64_t align);

} // namespace decant

#endif // DECANT_RUNTIME_ARGTABLE_H
