//===- Formats.cpp - formats that a tuner may try -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formats.h"

#include "Spec/JsonText.h"
#include "decant/Core/SlotLayout.h"
#include "decant/Spec/Plan.h"
#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

#include <fmt/format.h>
#include <set>

using namespace decant;
using namespace decant::tune;

using Json = nlohmann::ordered_json;

namespace {

/// Codes of a mixture: a type, or int8 whose rows have `mean` bits each, dealt
/// out evenly or by a plan.
struct Codes {
  const char *type;
  double mean = 0;
  const std::vector<uint8_t> *plan = nullptr;
};
constexpr const char *kPlain[] = {"int8", "int6", "int4"};
constexpr double kEvenMeans[] = {7, 6.5, 6, 5, 4};
/// f32 scales cost a quarter of a bit more and gain nothing that shows.
constexpr const char *kScale = "bf16";
constexpr int kWindows[] = {16, 32, 64};
/// Compensators: how they are stored, and rounds of their fit.
struct Storage {
  const char *type;
  int rounds;
};
constexpr Storage kStorage[] = {{"f16", 1}, {"int8", 2}};
constexpr int kCompensators[] = {2, 4, 8, 16};

class Collector {
public:
  Collector(const DecodeSpec &layer, double maxBits, int64_t mostWindow)
      : layer(layer), maxBits(maxBits), mostWindow(mostWindow),
        document(Json::parse(specToJson(layer))) {
    list.push_back({"the spec's own", layer});
    known.insert(canonicalText(layer));
  }

  void addMethod(const std::string &name) {
    Json json = document;
    json.erase("state");
    json.erase("window");
    json["preset"] = name;
    // Plans are made for one layer; here bits are dealt out.
    std::vector<std::string> overrides;
    const auto text = presetText(PresetKind::Method, name);
    if (text && text->find("\"lifetime\"") != std::string::npos)
      overrides.push_back("state.bits.by=even");
    add(overrides.empty() ? name : name + " even", json, overrides);
  }

  void addMixture(const Codes &codes, int window, int compensators,
                  const Storage &storage) {
    Json json = document;
    const bool plain = compensators == 0;
    std::string name = fmt::format(
        "{} w{}",
        codes.mean > 0
            ? fmt::format("{}{:g}", codes.plan ? "plan" : "even", codes.mean)
            : codes.type,
        window);
    // Without compensators the least-squares fit is the better one, with them
    // the largest element is.
    Json state = {{"codes", codes.type}};
    state["scale"] = Json::array(
        {{{"axis", "key"}, {"fit", "sqrt_mean_abs"}, {"type", kScale}},
         {{"axis", "value"},
          {"fit", plain ? "least_squares" : "absmax"},
          {"type", kScale}}});
    if (codes.mean > 0)
      state["bits"] = {{"mean", codes.mean},
                       {"by", codes.plan ? "lifetime" : "even"}};
    if (codes.plan) {
      StateSpec planned;
      planned.bits.widths = *codes.plan;
      state["plan"] = Json::parse(planToJson(layer.heads, planned, name));
    }
    Json fields = {
        {"length", window}, {"compensators", compensators}, {"records", "f16"}};
    if (!plain) {
      fields["compensator_type"] = storage.type;
      fields["compensator_rounds"] = storage.rounds;
      name += fmt::format(" r{} {}", compensators, storage.type);
      if (storage.rounds > 1)
        name += fmt::format(" x{}", storage.rounds);
    }
    json["state"] = state;
    json["window"] = fields;
    add(name, json, {});
  }

  std::vector<FormatCandidate> take() { return std::move(list); }

private:
  /// A format that does not suit the layer's rule or inputs is no candidate.
  void add(const std::string &name, const Json &json,
           const std::vector<std::string> &overrides) {
    Expected<DecodeSpec> spec =
        readSpecText({name, json.dump(), ""}, overrides);
    if (!spec || layer.tokensPerStep > spec->window.length ||
        (mostWindow > 0 && spec->window.length > mostWindow))
      return;
    if (makeSlotLayout(*spec, RecordShape()).bitsPerElement() > maxBits ||
        !known.insert(canonicalText(*spec)).second)
      return;
    list.push_back({name, *spec});
    list.back().spec.name = layer.name + ", " + name;
  }

  const DecodeSpec &layer;
  double maxBits;
  int64_t mostWindow;
  Json document;
  std::vector<FormatCandidate> list;
  std::set<std::string> known;
};

std::string memberOf(const DecodeSpec &spec, const char *name) {
  return Json::parse(specToJson(spec)).at(name).dump();
}

} // namespace

const std::vector<double> &decant::tune::plannedMeans() {
  static const std::vector<double> means = {7.25, 7, 6.5, 6.2, 6, 5.5, 5, 4};
  return means;
}

std::vector<FormatCandidate>
decant::tune::formatCandidates(const DecodeSpec &layer, FormatSet set,
                               double maxBits, const Plans &plans,
                               int64_t mostWindow) {
  Collector collector(layer, maxBits, mostWindow);
  if (set != FormatSet::Mixtures)
    for (const PresetFile &file : presetFiles())
      if (file.kind == PresetKind::Method)
        collector.addMethod(std::string(file.name));
  if (set == FormatSet::Methods)
    return collector.take();
  std::vector<Codes> codes;
  for (const char *type : kPlain)
    codes.push_back({type});
  for (double mean : kEvenMeans)
    codes.push_back({"int8", mean});
  for (const auto &[mean, widths] : plans)
    codes.push_back({"int8", mean, &widths});
  for (const Codes &entry : codes)
    for (int window : kWindows) {
      collector.addMixture(entry, window, 0, kStorage[0]);
      for (int compensators : kCompensators)
        for (const Storage &storage : kStorage)
          collector.addMixture(entry, window, compensators, storage);
    }
  return collector.take();
}

std::string decant::tune::stateJson(const DecodeSpec &spec) {
  return memberOf(spec, "state");
}

std::string decant::tune::windowJson(const DecodeSpec &spec) {
  return memberOf(spec, "window");
}
