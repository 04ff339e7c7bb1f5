//===- PackBuilder.cpp - images into one pack -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/PackBuilder.h"

#include "PackFormat.h"
#include "decant/Core/ImageHeader.h"

#include <fmt/format.h>

using namespace decant;

int PackBuilder::addBlob(std::string bytes) {
  const auto found = numbers.find(bytes);
  if (found != numbers.end()) {
    shared += int64_t(bytes.size());
    return found->second;
  }
  const int number = int(blobs.size());
  held.blobs.push_back({0, int64_t(bytes.size()), pack::hashOf(bytes)});
  numbers.emplace(bytes, number);
  blobs.push_back(std::move(bytes));
  return number;
}

Expected<int> PackBuilder::addSpec(const KernelImage &image) {
  const PackSpec added = {image.specName, image.layout.tokensPerStep,
                          hashSpecText(image.specText)};
  for (size_t i = 0; i < held.specs.size(); ++i) {
    const PackSpec &spec = held.specs[i];
    if (spec.name != added.name || spec.tokensPerStep != added.tokensPerStep)
      continue;
    if (spec.textHash == added.textHash)
      return int(i);
    return Status::invalid(fmt::format(
        "pack: two specs are named \"{}\", with {} tokens per step, and their "
        "texts differ; each needs a name of its own",
        spec.name, spec.tokensPerStep));
  }
  held.specs.push_back(added);
  return int(held.specs.size()) - 1;
}

Status PackBuilder::add(const KernelImage &image,
                        std::vector<int64_t> maxRows) {
  PackVariant variant;
  DECANT_ASSIGN(variant.spec, addSpec(image));
  variant.kernels =
      image.find("step") ? PackKernels::Decode : PackKernels::Transfer;
  variant.target = image.target;
  variant.kind = image.kind;
  variant.ptxIsa = image.ptxIsa;
  variant.schedule = image.scheduleText;
  variant.order = image.layout.codeOrder;
  variant.slotBytes = image.layout.slotBytes;
  variant.compiler = image.compiler;
  variant.maxRows = std::move(maxRows);
  variant.header = addBlob(imageHeader(image));
  variant.code = addBlob(image.code);
  held.variants.push_back(std::move(variant));
  return {};
}

Expected<std::string> PackBuilder::bytes() {
  DECANT_TRY(pack::checkIndex(held));
  std::string file = pack::writeIndex(held);
  file.reserve(size_t(held.fileBytes));
  for (const std::string &blob : blobs)
    file += blob;
  return file;
}
