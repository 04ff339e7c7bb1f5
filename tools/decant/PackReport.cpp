//===- PackReport.cpp - a pack's contents, for people ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackReport.h"

#include "decant/Runtime/Pack.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

using namespace decant;
using namespace decant::tool;

namespace {

/// The first bytes of every pack; no spec starts like this.
constexpr const char *kPackStart = "DECPAK";

struct RowRange {
  int64_t from = 1;
  int64_t to = kAnyRows;
};

/// The batches of a variant: each of its bounds reaches down to the next bound
/// of a variant of its spec and target.
std::vector<RowRange> rangesOf(const PackIndex &index, int number) {
  const PackVariant &variant = index.variants[size_t(number)];
  std::vector<RowRange> ranges;
  for (int64_t bound : variant.maxRows) {
    int64_t below = 0;
    for (const PackVariant &other : index.variants)
      if (other.spec == variant.spec && other.target == variant.target)
        for (int64_t next : other.maxRows)
          if (next < bound)
            below = std::max(below, next);
    ranges.push_back({below + 1, bound});
  }
  return ranges;
}

std::string batchesText(const PackIndex &index, int number) {
  const PackVariant &variant = index.variants[size_t(number)];
  if (variant.kernels == PackKernels::Transfer)
    return "-";
  if (variant.maxRows.empty())
    return "candidate";
  std::string text;
  for (const RowRange &range : rangesOf(index, number))
    text += fmt::format("{}{}..{}", text.empty() ? "" : ", ", range.from,
                        range.to == kAnyRows ? "" : std::to_string(range.to));
  return text;
}

Json variantToJson(const PackIndex &index, int number) {
  const PackVariant &variant = index.variants[size_t(number)];
  const PackSpec &spec = index.specs[size_t(variant.spec)];
  Json json = {{"variant", number},
               {"spec", spec.name},
               {"spec_hash", fmt::format("{:016x}", spec.textHash)},
               {"tokens_per_step", spec.tokensPerStep},
               {"kernels", toString(variant.kernels)},
               {"target", variant.target},
               {"code_kind", toString(variant.kind)},
               {"ptx_isa", variant.ptxIsa},
               {"schedule", variant.schedule},
               {"code_order", toString(variant.order)},
               {"slot_bytes", variant.slotBytes},
               {"bytes", index.bytesOf(number)},
               {"code", variant.code},
               {"compiler", variant.compiler}};
  json["batches"] = Json::array();
  for (const RowRange &range : rangesOf(index, number))
    json["batches"].push_back(
        {{"from", range.from},
         {"to", range.to == kAnyRows ? Json() : Json(range.to)}});
  return json;
}

/// What is damaged, variant by variant; empty for a sound pack.
std::vector<std::string> damageOf(const Pack &pack) {
  std::vector<std::string> damage;
  for (size_t i = 0; i < pack.index().variants.size(); ++i)
    if (const Expected<KernelImage> image = pack.image(int(i)); !image)
      damage.push_back(image.status().message());
  return damage;
}

} // namespace

bool decant::tool::isPackFile(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return false;
  std::string start(std::char_traits<char>::length(kPackStart), ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), std::streamsize(start.size()));
  return file && start == kPackStart;
}

void decant::tool::describePack(const PackIndex &index, Report &report) {
  report.json["bytes"] = index.fileBytes;
  report.json["specs"] = index.specs.size();
  report.json["variants"] = Json::array();
  report.text +=
      fmt::format("{} bytes, {} specs, {} variants\n", index.fileBytes,
                  index.specs.size(), index.variants.size());
  for (size_t spec = 0; spec < index.specs.size(); ++spec) {
    const PackSpec &facts = index.specs[spec];
    report.text +=
        fmt::format("\n{}, {} token{} per step\n", facts.name,
                    facts.tokensPerStep, facts.tokensPerStep == 1 ? "" : "s");
    report.text +=
        fmt::format("  {:>3}  {:<8} {:<8} {:<11} {:>8}  {:<12} {}\n", "",
                    "kernels", "target", "code", "bytes", "rows", "schedule");
    for (size_t i = 0; i < index.variants.size(); ++i) {
      const PackVariant &variant = index.variants[i];
      if (size_t(variant.spec) == spec)
        report.text +=
            fmt::format("  {:>3}  {:<8} {:<8} {:<11} {:>8}  {:<12} {}\n", i,
                        toString(variant.kernels), variant.target,
                        toString(variant.kind), index.bytesOf(int(i)),
                        batchesText(index, int(i)), variant.schedule);
    }
  }
  for (size_t i = 0; i < index.variants.size(); ++i)
    report.json["variants"].push_back(variantToJson(index, int(i)));
}

Expected<Report> decant::tool::inspectPack(const std::string &path) {
  DECANT_ASSIGN(const std::unique_ptr<Pack> pack, Pack::open(path));
  Report report;
  report.json["pack"] = path;
  report.text = path + "\n";
  describePack(pack->index(), report);
  const std::vector<std::string> damage = damageOf(*pack);
  report.json["damaged"] = damage;
  report.text += damage.empty() ? "\nevery byte is as it was written\n" : "\n";
  if (!damage.empty())
    report.verdict =
        Status::invalid(fmt::format("{}", fmt::join(damage, "; ")));
  return report;
}
