//===- DecodeVariant.h - one cut of a layer's decode kernels -- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a decode image and a device. Out: the loaded image with the argument
// tables of its kernels, which a Program launches for the batches that its
// rules give to this variant.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_DECODEVARIANT_H
#define DECANT_RUNTIME_DECODEVARIANT_H

#include "ArgTable.h"

namespace decant {

struct DecodeVariant {
  static Expected<std::unique_ptr<DecodeVariant>>
  create(Device &device, KernelImage decode, const LoadOptions &options);

  const KernelImage &image() const { return loaded->image(); }
  /// Arguments of a step and, where windows are folded apart, of the commit
  /// that goes with it; room for kMaxKernelArgs each.
  Status gatherStep(const CallValues &values, ArgValue *stepArgs,
                    ArgValue *commitArgs) const;
  Status launchStep(int64_t rows, const ArgValue *stepArgs,
                    const ArgValue *commitArgs, StreamHandle stream) const;

  std::unique_ptr<LoadedImage> loaded;
  std::unique_ptr<ArgTable> step;
  std::unique_ptr<ArgTable> commit; // null with windows of one token
  std::unique_ptr<ArgTable> accept; // of several tokens per step
  int64_t maxRows = 0;
  int64_t slotAlign = kSlotAlign;
  bool stepFolds = false; // the step kernel folds full windows itself
  bool tensorCores = false;
};

} // namespace decant

#endif // DECANT_RUNTIME_DECODEVARIANT_H
