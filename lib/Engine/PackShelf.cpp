//===- PackShelf.cpp - the packs of an engine -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackShelf.h"

#include "decant/Runtime/Cuda.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;

Expected<PackShelf> PackShelf::open(const std::vector<std::string> &paths) {
  PackShelf shelf;
  for (const std::string &path : paths) {
    DECANT_ASSIGN(std::unique_ptr<Pack> pack, Pack::open(path));
    shelf.packs.push_back(std::move(pack));
  }
  return Expected<PackShelf>(std::move(shelf));
}

std::optional<PackShelf::Picks>
PackShelf::picksFor(const DecodeSpec &spec, const DeviceInfo &device,
                    VariantChoice wanted,
                    std::vector<std::string> &notes) const {
  PackQuery query;
  query.specText = canonicalText(spec);
  // The rule that takes any number of rows is the last one.
  if (wanted != VariantChoice::ByBatch)
    query.minRows = query.maxRows = kAnyRows;
  for (const auto &pack : packs) {
    Expected<PackChoice> choice = chooseFromPack(pack->index(), query, device);
    if (choice)
      return Picks{pack.get(), choice.take()};
    // That it has other specs is nothing to tell.
    if (choice.status().code() == StatusCode::Unavailable)
      notes.push_back(choice.status().within(pack->path()).message());
  }
  return std::nullopt;
}

static bool answers(const PackVariant &variant, const CompileOptions &options) {
  if (variant.target != options.target.name)
    return false;
  if (options.kernels == KernelSet::Transfer)
    return variant.kernels == PackKernels::Transfer && options.order &&
           variant.order == *options.order;
  return variant.kernels == PackKernels::Decode && options.schedule &&
         variant.schedule == toString(*options.schedule) &&
         (!options.order || variant.order == *options.order);
}

static bool loads(const PackVariant &variant, const DeviceInfo &device) {
  return variant.kind != CodeKind::Ptx ||
         checkPtxIsa(variant.ptxIsa, device.driverVersion).ok();
}

/// The number of an image of the spec with that hash; -1 without one.
static int find(const PackIndex &index, uint64_t specHash,
                const CompileOptions &options, const DeviceInfo &device) {
  int found = -1;
  for (size_t i = 0; i < index.variants.size(); ++i) {
    const PackVariant &variant = index.variants[i];
    if (index.specs[size_t(variant.spec)].textHash == specHash &&
        answers(variant, options) && loads(variant, device) &&
        (found < 0 || variant.kind == CodeKind::Cubin))
      found = int(i);
  }
  return found;
}

bool PackShelf::lists(const DecodeSpec &spec, const CompileOptions &options,
                      const DeviceInfo &device) const {
  const uint64_t hash = hashSpecText(canonicalText(spec));
  return std::any_of(packs.begin(), packs.end(), [&](const auto &pack) {
    return find(pack->index(), hash, options, device) >= 0;
  });
}

std::optional<KernelImage>
PackShelf::image(const DecodeSpec &spec, const CompileOptions &options,
                 const DeviceInfo &device, std::string &source,
                 std::vector<std::string> &notes) const {
  if (packs.empty())
    return std::nullopt;
  const uint64_t hash = hashSpecText(canonicalText(spec));
  for (const auto &pack : packs) {
    const int found = find(pack->index(), hash, options, device);
    if (found < 0)
      continue;
    Expected<KernelImage> image = pack->image(found);
    if (image) {
      source = pack->path();
      return image.take();
    }
    notes.push_back(image.status().message());
  }
  return std::nullopt;
}

int64_t PackShelf::imagesRead() const {
  int64_t sum = 0;
  for (const auto &pack : packs)
    sum += pack->counters().images;
  return sum;
}
