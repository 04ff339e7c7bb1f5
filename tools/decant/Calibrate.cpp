//===- Calibrate.cpp - decant calibrate -----------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Traces of a layer become a plan: the bits of each key row, so that the sum of
// what rounding does to the outputs is least for the mean that is allowed; and
// whatever else the format asks for: weights of rows, levels, static scales.
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "OutputFile.h"
#include "Progress.h"
#include "SpecArguments.h"
#include "Verify/ReferenceProgram.h"
#include "decant/Compiler/Compiler.h"
#include "decant/Reference/TableFit.h"
#include "decant/Spec/Plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <set>

using namespace decant;
using namespace decant::tool;

namespace {

struct CalibrateOptions {
  SpecSource spec;
  std::vector<std::string> traces;
  std::string output;
  std::optional<double> bits;
};

/// What one head got.
struct HeadShare {
  double mean = 0;
  std::vector<int> rows = std::vector<int>(kPivotBits + 1); // by width
  double lifetime = 0;                                      // of the median row
  double impact = 0; // of all heads' impact
};

struct Calibrated {
  DecodeSpec spec; // with the plan's widths
  int64_t tokens = 0;
  double bitsPerElement = 0;
  double cost = 0; // over that of bits that are dealt out in turn
  std::vector<HeadShare> heads;
};

/// A plan is what the spec lacks yet.
Expected<DecodeSpec> specWithoutPlan(const CalibrateOptions &options) {
  SpecSource source = options.spec;
  source.planToCome = true;
  DECANT_ASSIGN(DecodeSpec spec, readSpec(source));
  if (options.bits) {
    source.overrides.push_back(fmt::format(
        R"(state.bits={{"mean": {}, "by": "lifetime", "pivots": {}}})",
        *options.bits, spec.state.bits.pivots));
    DECANT_ASSIGN(spec, readSpec(source));
  }
  const StateSpec &state = spec.state;
  const bool isStatic =
      !state.scales.empty() && state.scales[0].fit == ScaleFit::Static;
  if (state.bits.mean == 0 && !isTable(state.codes) && !isStatic)
    return Status::invalid(fmt::format(
        "{}: found nothing that a plan could decide; allowed: a spec with "
        "state.bits (or --bits), codes table4 or table3, or scales of fit "
        "static",
        spec.name));
  return spec;
}

/// Bits that nobody weighed: what allocated ones are compared with.
std::vector<uint8_t> evenWidths(const DecodeSpec &spec) {
  const HeadShape &heads = spec.heads;
  std::vector<uint8_t> widths;
  for (int head = 0; head < heads.value; ++head) {
    const std::vector<uint8_t> own =
        evenRowBits(spec.state.bits.mean, heads.keyDim, spec.state.bits.pivots);
    widths.insert(widths.end(), own.begin(), own.end());
  }
  return widths;
}

double sumOf(const std::vector<CostByBits> &costs,
             const std::vector<uint8_t> &widths) {
  double sum = 0;
  for (size_t row = 0; row < costs.size(); ++row)
    if (widths[row] != kPivotBits) // whose error is nothing beside the others'
      sum += costs[row][widths[row] - kMinRowBits];
  return sum;
}

std::vector<HeadShare> sharesOf(const RowStatistics &rows,
                                const DecodeSpec &spec) {
  const int keyDim = spec.heads.keyDim;
  double all = 0;
  for (double impact : rows.impact)
    all += impact;
  std::vector<HeadShare> heads(spec.heads.value);
  for (int head = 0; head < spec.heads.value; ++head) {
    HeadShare &share = heads[head];
    std::vector<double> lifetimes;
    for (int row = head * keyDim; row < (head + 1) * keyDim; ++row) {
      const int width = spec.state.bits.widths[row];
      ++share.rows[width];
      share.mean += double(width) / keyDim;
      share.impact += all > 0 ? rows.impact[row] / all : 0;
      lifetimes.push_back(rows.lifetime[row]);
    }
    std::nth_element(lifetimes.begin(), lifetimes.begin() + keyDim / 2,
                     lifetimes.end());
    share.lifetime = lifetimes[keyDim / 2];
  }
  return heads;
}

/// Gives out the bits of key rows, and what rows weigh where a fit asks for it.
void planRows(const RowStatistics &rows, Calibrated &result) {
  DecodeSpec &spec = result.spec;
  RowBits &bits = spec.state.bits;
  const std::vector<ScaleSpec> &scales = spec.state.scales;
  const std::vector<CostByBits> costs = rows.costs();
  const double even = sumOf(costs, evenWidths(spec));
  const double budget = bits.mean * double(costs.size());
  const int64_t whole = int64_t(budget + 1e-6);
  const bool areWhole = isGrouped(scales.back());
  bits.widths =
      bits.pivots > 0 || areWhole
          ? allocateRows(costs, spec.heads.keyDim, bits.pivots, whole, areWhole)
          : allocateSlabBits(costs, whole, spec.heads.keyDim);
  result.cost = even > 0 ? sumOf(costs, bits.widths) / even : 1;
  if (scales.back().fit == ScaleFit::LeastSquares)
    spec.state.tables.weights = fitWeights(rows, spec.heads);
  result.heads = sharesOf(rows, spec);
}

Expected<Calibrated> calibrateLayer(const CalibrateOptions &options) {
  Calibrated result;
  DECANT_ASSIGN(result.spec, specWithoutPlan(options));
  DecodeSpec &spec = result.spec;
  DecodeSpec unstored = spec; // the rule is asked, whatever stores its state
  unstored.state = {};
  DECANT_ASSIGN(const RuleInfo rule, describeRule(unstored));
  std::vector<Trace> traces;
  for (const std::string &path : options.traces) {
    DECANT_ASSIGN(traces.emplace_back(), readTrace(path));
  }
  std::vector<TraceView> views;
  for (const Trace &trace : traces) {
    DECANT_ASSIGN(views.emplace_back(), bindTrace(trace, spec, rule.inputs));
    result.tokens += views.back().tokens;
  }
  DECANT_ASSIGN(const ReferencePrograms programs, referencePrograms(unstored));

  const bool hasRows = spec.state.bits.mean > 0;
  PlanTables &tables = spec.state.tables;
  if (!hasRows && !isTable(spec.state.codes)) {
    DECANT_ASSIGN(tables.scales, fitStaticScales(programs.exact, views, spec));
  } else {
    Progress progress("calibration", spec.heads.value * int64_t(views.size()));
    int64_t done = 0;
    CalibrationOptions calibration;
    calibration.progress = [&](int) { progress.update(done++); };
    DECANT_ASSIGN(const RowStatistics rows,
                  calibrate(programs.exact, views, spec, calibration));
    if (hasRows) {
      planRows(rows, result);
    } else {
      DECANT_ASSIGN(tables.levels,
                    fitLevels(programs.exact, views, spec, rows, calibration));
    }
  }
  const std::vector<SpecIssue> issues = check(spec);
  if (!issues.empty())
    return Status::invalid(fmt::format("{}: {}: {}", spec.name, issues[0].path,
                                       issues[0].message));
  result.bitsPerElement = makeSlotLayout(spec, RecordShape()).bitsPerElement();
  return result;
}

/// The different numbers of static scales, and the largest of them.
std::string describeScales(const std::vector<float> &scales, int heads) {
  const size_t each = scales.size() / heads;
  std::set<std::vector<float>> clusters;
  for (auto head = scales.begin(); head != scales.end(); head += each)
    clusters.emplace(head, head + each);
  return fmt::format("{} static scales in {} cluster{} of heads, {:.3g} to "
                     "{:.3g}",
                     each * clusters.size(), clusters.size(),
                     clusters.size() == 1 ? "" : "s",
                     *std::min_element(scales.begin(), scales.end()),
                     *std::max_element(scales.begin(), scales.end()));
}

Json toJson(const Calibrated &result, const CalibrateOptions &options) {
  Json json;
  json["spec"] = result.spec.name;
  json["plan"] = options.output;
  json["traces"] = options.traces;
  json["tokens"] = result.tokens;
  if (!result.heads.empty())
    json["mean_bits"] = result.spec.state.bits.mean;
  json["bits_per_element"] = result.bitsPerElement;
  const PlanTables &tables = result.spec.state.tables;
  if (!tables.levels.empty())
    json["levels"] = tables.levels;
  if (!tables.scales.empty())
    json["static_scales"] = tables.scales.size();
  if (result.heads.empty())
    return json;
  json["cost_over_even"] = result.cost;
  json["heads"] = Json::array();
  for (const HeadShare &share : result.heads) {
    Json rows = Json::object();
    for (int bits = kMinRowBits; bits <= kMaxRowBits; ++bits)
      rows[std::to_string(bits)] = share.rows[bits];
    rows["f16"] = share.rows[kPivotBits];
    json["heads"].push_back({{"mean_bits", share.mean},
                             {"rows", rows},
                             {"median_lifetime", share.lifetime},
                             {"impact", share.impact}});
  }
  return json;
}

/// What each head got.
std::string headTable(const Calibrated &result) {
  const bool hasPivots = result.spec.state.bits.pivots > 0;
  std::string text = fmt::format(
      "{:<6}{:>6}  {:>4}{:>5}{:>5}{:>5}{:>5}{:>5}{:>5}{}{:>12}{:>9}\n", "head",
      "bits", "2", "3", "4", "5", "6", "7", "8", hasPivots ? "  f16" : "",
      "lifetime", "impact");
  for (size_t head = 0; head < result.heads.size(); ++head) {
    const HeadShare &share = result.heads[head];
    text += fmt::format("{:<6}{:>6.2f} ", head, share.mean);
    for (int bits = kMinRowBits; bits <= kMaxRowBits; ++bits)
      text += fmt::format("{:>5}", share.rows[bits]);
    if (hasPivots)
      text += fmt::format("{:>5}", share.rows[kPivotBits]);
    text +=
        fmt::format("{:>12.1f}{:>8.1f}%\n", share.lifetime, 100 * share.impact);
  }
  return text +
         fmt::format("\nkey rows of each width; lifetime of the median row in "
                     "tokens; part of the impact of all heads\n"
                     "expected squared error of the outputs: {:.2g} of that of "
                     "bits dealt out evenly\n",
                     result.cost);
}

std::string toText(const Calibrated &result, const CalibrateOptions &options) {
  const StateSpec &state = result.spec.state;
  std::string text = fmt::format(
      "{}: {} tokens of {} trace{}; ", result.spec.name, result.tokens,
      options.traces.size(), options.traces.size() == 1 ? "" : "s");
  if (!result.heads.empty())
    text +=
        fmt::format("{:.4g} bits per code in the mean, {:.4g} per element "
                    "in all\n\n{}",
                    state.bits.mean, result.bitsPerElement, headTable(result));
  else
    text += fmt::format("{:.4g} bits per element\n", result.bitsPerElement);
  const PlanTables &tables = state.tables;
  if (!tables.weights.empty())
    text += fmt::format(
        "key rows weigh {:.3g} to {:.3g} in fits\n",
        *std::min_element(tables.weights.begin(), tables.weights.end()),
        *std::max_element(tables.weights.begin(), tables.weights.end()));
  if (!tables.levels.empty())
    text += fmt::format("levels {:.4f}\n", fmt::join(tables.levels, ", "));
  if (!tables.scales.empty())
    text += describeScales(tables.scales, result.spec.heads.value) + "\n";
  return text + fmt::format("written to {}\n", options.output);
}

/// A sentence about where a plan came from.
std::string describePlan(const Calibrated &result) {
  if (result.heads.empty())
    return fmt::format("{}, from {} tokens", result.spec.name, result.tokens);
  return fmt::format("{} in {:.4g} bits, from {} tokens", result.spec.name,
                     result.spec.state.bits.mean, result.tokens);
}

} // namespace

Command decant::tool::addCalibrate(CLI::App &root) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App *app = root.add_subcommand(
      "calibrate", "Decide from traces how many bits each key row gets, and "
                   "what else a format asks of a plan");
  addSpecArguments(*app, options->spec, "A spec file or a preset's name");
  app->add_option("--trace", options->traces,
                  "Safetensors files with q, k, v, g and beta of one sequence "
                  "each, all of the spec's layer")
      ->required()
      ->option_text("FILE...");
  app->add_option("-o,--output", options->output, "The plan to write")
      ->required()
      ->option_text("PLAN");
  app->add_option("--bits", options->bits,
                  "Mean bits of a code, from 2 to 8; state.bits.mean when "
                  "absent")
      ->option_text("MEAN");
  return {app, [options](const Invocation &) -> Expected<Report> {
            DECANT_ASSIGN(const Calibrated result, calibrateLayer(*options));
            DECANT_TRY(
                writeOutputFile(options->output,
                                planToJson(result.spec.heads, result.spec.state,
                                           describePlan(result))));
            Report report;
            report.json = toJson(result, *options);
            report.text = toText(result, *options);
            return report;
          }};
}
