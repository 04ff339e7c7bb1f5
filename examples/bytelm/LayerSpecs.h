//===- LayerSpecs.h - which spec each layer decodes with --------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: --spec and --set of the command line. Out: the states of every layer.
//
//     --spec leapquant-int6             a method, for all layers
//     --spec kda=mine.json              a spec of one's own, for KDA layers
//     --spec 2=step-bf16                layer 2 alone; the last match wins
//     --spec plain                      the engine's own fp32 recurrence
//     --set window.length=32            a field of all specs
//     --set kda:state.codes=int6        ... of those of the KDA layers
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_LAYERSPECS_H
#define BYTELM_LAYERSPECS_H

#include "DecantHost.h"

namespace bytelm {

struct SpecOptions {
  std::vector<std::string> specs; // none: leapquant-int8
  std::vector<std::string> fields;
  std::string device = "cpu";
  int threads = 0;
};

/// All layers of a model, by the options. Throws InputError.
class LayerSpecs {
public:
  LayerSpecs(const Model &model, const SpecOptions &options);

  /// The states of `rows` sequences, all empty.
  std::vector<std::unique_ptr<LayerStates>> states(int rows);
  /// Where Decant's kernels run; empty if no layer has any.
  std::string deviceName() const { return host ? host->deviceName() : ""; }

private:
  const Model &model;
  int threads;
  std::unique_ptr<DecantHost> host;
  struct Layer {
    std::string name;  // for messages
    SpecHandle handle; // null: plain
  };
  std::vector<Layer> layers;
};

} // namespace bytelm

#endif // BYTELM_LAYERSPECS_H
