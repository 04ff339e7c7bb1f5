//===- PackShelf.h - the packs of an engine ---------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two questions to packs. Who has picks for a spec on a device? And, once a
// record has said which schedules, who has the image of this one? The first
// pack that answers is taken; what is damaged is passed over and named.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_ENGINE_PACKSHELF_H
#define DECANT_LIB_ENGINE_PACKSHELF_H

#include "decant/Engine.h"
#include "decant/Runtime/Pack.h"

namespace decant {

class PackShelf {
public:
  /// An error names the file.
  static Expected<PackShelf> open(const std::vector<std::string> &paths);

  bool empty() const { return packs.empty(); }

  struct Picks {
    const Pack *pack = nullptr;
    PackChoice choice;
  };
  /// With one variant, that for any number of rows, unless batches choose.
  /// `notes` gets why a pack that has the spec does not serve.
  std::optional<Picks> picksFor(const DecodeSpec &spec,
                                const DeviceInfo &device, VariantChoice choice,
                                std::vector<std::string> &notes) const;

  /// Whether some pack lists the image that `options` describe.
  bool lists(const DecodeSpec &spec, const CompileOptions &options,
             const DeviceInfo &device) const;
  /// The image that `options` describe; for decode kernels, which need a
  /// schedule, and transfers, which need an order of codes.
  std::optional<KernelImage> image(const DecodeSpec &spec,
                                   const CompileOptions &options,
                                   const DeviceInfo &device,
                                   std::string &source,
                                   std::vector<std::string> &notes) const;

  int64_t imagesRead() const;

private:
  std::vector<std::unique_ptr<Pack>> packs;
};

} // namespace decant

#endif // DECANT_LIB_ENGINE_PACKSHELF_H
