//===- CAPIPack.cpp - packs in C ------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant-c/decant_pack.h"
#include "decant/Runtime/CApi.h"
#include "decant/Runtime/Pack.h"

#include <fmt/format.h>
#include <mutex>
#include <set>

using namespace decant;
using namespace decant::capi;

struct DecantPack {
  explicit DecantPack(std::unique_ptr<Pack> given) : pack(std::move(given)) {}

  /// A copy of `text` that lives as long as the pack, null for an empty one.
  const char *keep(const std::string &text) {
    if (text.empty())
      return nullptr;
    std::lock_guard<std::mutex> guard(mutex);
    return texts.insert(text).first->c_str();
  }

  std::unique_ptr<Pack> pack;

private:
  std::mutex mutex;
  std::set<std::string> texts;
};

namespace {

Status checkIndex(int32_t index, size_t count) {
  if (index >= 0 && size_t(index) < count)
    return {};
  return Status::invalid(
      fmt::format("argument \"index\" is {}; 0 to {} are allowed", index,
                  int64_t(count) - 1));
}

Status convert(const DecantPackQuery *given, PackQuery &result) {
  DecantPackQuery query;
  DECANT_TRY(readSized("query", given, query));
  result.spec = query.spec ? query.spec : "";
  result.specText = query.spec_text ? query.spec_text : "";
  result.tokensPerStep = query.tokens_per_step;
  result.transfer = query.decode_only == 0;
  result.minRows = query.min_rows == 0 ? 1 : query.min_rows;
  result.maxRows = query.max_rows == 0 ? kAnyRows : query.max_rows;
  return {};
}

} // namespace

extern "C" {

DecantStatus decantPackOpen(const char *path, DecantPack **pack) {
  return guarded([&]() -> Status {
    if (!pack)
      return nullArgument("pack");
    *pack = nullptr;
    if (!path)
      return nullArgument("path");
    DECANT_ASSIGN(auto opened, Pack::open(path));
    *pack = new DecantPack(std::move(opened));
    return {};
  });
}

void decantPackClose(DecantPack *pack) { delete pack; }

DecantStatus decantPackGetInfo(const DecantPack *pack, DecantPackInfo *info) {
  return guarded([&]() -> Status {
    if (!pack)
      return nullArgument("pack");
    const PackIndex &index = pack->pack->index();
    const PackCounters counters = pack->pack->counters();
    DecantPackInfo values = {};
    values.file_bytes = index.fileBytes;
    values.spec_count = int32_t(index.specs.size());
    values.variant_count = int32_t(index.variants.size());
    values.images_read = counters.images;
    values.bytes_read = counters.bytes;
    values.images_loaded = counters.loads;
    return writeSized("info", values, info);
  });
}

DecantStatus decantPackGetSpec(const DecantPack *pack, int32_t index,
                               DecantPackSpecInfo *info) {
  return guarded([&]() -> Status {
    if (!pack)
      return nullArgument("pack");
    const std::vector<PackSpec> &specs = pack->pack->index().specs;
    DECANT_TRY(checkIndex(index, specs.size()));
    DecantPackSpecInfo values = {};
    values.name = specs[size_t(index)].name.c_str();
    values.tokens_per_step = specs[size_t(index)].tokensPerStep;
    return writeSized("info", values, info);
  });
}

DecantStatus decantPackGetVariant(const DecantPack *pack, int32_t index,
                                  DecantPackVariantInfo *info) {
  return guarded([&]() -> Status {
    if (!pack)
      return nullArgument("pack");
    const PackIndex &all = pack->pack->index();
    DECANT_TRY(checkIndex(index, all.variants.size()));
    const PackVariant &variant = all.variants[size_t(index)];
    DecantPackVariantInfo values = {};
    values.spec = variant.spec;
    values.transfer = variant.kernels == PackKernels::Transfer;
    values.target = variant.target.c_str();
    values.kind = toString(variant.kind);
    values.schedule = variant.schedule.c_str();
    values.slot_bytes = variant.slotBytes;
    values.bytes = all.bytesOf(index);
    values.max_rows =
        variant.maxRows.empty() ? nullptr : variant.maxRows.data();
    values.max_rows_count = int32_t(variant.maxRows.size());
    return writeSized("info", values, info);
  });
}

DecantStatus decantPackLoadImage(const DecantPack *pack, int32_t variant,
                                 DecantImage **image) {
  return guarded([&]() -> Status {
    if (!image)
      return nullArgument("image");
    *image = nullptr;
    if (!pack)
      return nullArgument("pack");
    DECANT_ASSIGN(KernelImage read, pack->pack->image(variant));
    *image =
        new DecantImage{std::make_shared<const KernelImage>(std::move(read))};
    return {};
  });
}

DecantStatus decantProgramCreateFromPack(const DecantDevice *device,
                                         DecantPack *pack,
                                         const DecantPackQuery *given,
                                         DecantPackReport *report,
                                         DecantProgram **program) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    *program = nullptr;
    if (!device)
      return nullArgument("device");
    if (!pack)
      return nullArgument("pack");
    PackQuery query;
    DECANT_TRY(convert(given, query));
    DecantPackReport sized;
    if (report)
      DECANT_TRY(readSized("report", report, sized));
    PackReport facts;
    DECANT_ASSIGN(auto made, programFromPack(*pack->pack, device->device, query,
                                             {}, &facts));
    if (report) {
      DecantPackReport values = {};
      values.target = pack->keep(facts.choice.target);
      values.note = pack->keep(facts.choice.note);
      values.decode_count = int32_t(facts.choice.decode.size());
      values.read_ms = facts.readMs;
      values.load_ms = facts.loadMs;
      values.bytes = facts.bytes;
      DECANT_TRY(writeSized("report", values, report));
    }
    *program = new DecantProgram{std::move(made)};
    return {};
  });
}

} // extern "C"
