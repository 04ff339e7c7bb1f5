//===- Calibrate.cpp - decant calibrate -----------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Traces of a layer become a plan: the bits of each key row, so that the sum of
// what rounding does to the outputs is least for the mean that is allowed.
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "OutputFile.h"
#include "Progress.h"
#include "SpecArguments.h"
#include "Verify/ReferenceProgram.h"
#include "decant/Compiler/Compiler.h"
#include "decant/Reference/Calibration.h"
#include "decant/Spec/Plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

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
  std::vector<int> rows = std::vector<int>(kMaxRowBits + 1); // by width
  double lifetime = 0; // of the median row
  double impact = 0;   // of all heads' impact
};

struct Calibrated {
  DecodeSpec spec; // with the plan's widths
  int64_t tokens = 0;
  double bitsPerElement = 0;
  double cost = 0; // over that of bits that are dealt out in turn
  std::vector<HeadShare> heads;
};

/// The spec with bits that are dealt out in turn: a plan is what it lacks yet.
Expected<DecodeSpec> specWithoutPlan(const CalibrateOptions &options) {
  SpecSource source = options.spec;
  source.overrides.push_back(
      options.bits ? fmt::format(R"(state.bits={{"mean": {}, "by": "even"}})",
                                 *options.bits)
                   : "state.bits.by=even");
  return readSpec(source);
}

double sumOf(const std::vector<CostByBits> &costs,
             const std::vector<uint8_t> &widths) {
  double sum = 0;
  for (size_t row = 0; row < costs.size(); ++row)
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

Expected<Calibrated> calibrateLayer(const CalibrateOptions &options) {
  Calibrated result;
  DECANT_ASSIGN(result.spec, specWithoutPlan(options));
  DecodeSpec &spec = result.spec;
  DECANT_ASSIGN(const RuleInfo rule, describeRule(spec));
  std::vector<Trace> traces;
  for (const std::string &path : options.traces) {
    DECANT_ASSIGN(traces.emplace_back(), readTrace(path));
  }
  std::vector<TraceView> views;
  for (const Trace &trace : traces) {
    DECANT_ASSIGN(views.emplace_back(), bindTrace(trace, spec, rule.inputs));
  }
  DECANT_ASSIGN(const ReferencePrograms programs, referencePrograms(spec));

  Progress progress("calibration", spec.heads.value * int64_t(views.size()));
  int64_t done = 0;
  CalibrationOptions calibration;
  calibration.progress = [&](int) { progress.update(done++); };
  DECANT_ASSIGN(const RowStatistics rows,
                calibrate(programs.exact, views, spec, calibration));

  std::vector<uint8_t> &widths = spec.state.bits.widths;
  const std::vector<CostByBits> costs = rows.costs();
  const double even = sumOf(costs, widths);
  const double budget = spec.state.bits.mean * double(widths.size());
  widths = allocateBits(costs, int64_t(budget + 1e-6));
  result.cost = even > 0 ? sumOf(costs, widths) / even : 1;
  result.tokens = rows.tokens;
  result.bitsPerElement = makeSlotLayout(spec, RecordShape()).bitsPerElement();
  result.heads = sharesOf(rows, spec);
  return result;
}

Json toJson(const Calibrated &result, const CalibrateOptions &options) {
  Json json;
  json["spec"] = result.spec.name;
  json["plan"] = options.output;
  json["traces"] = options.traces;
  json["tokens"] = result.tokens;
  json["mean_bits"] = result.spec.state.bits.mean;
  json["bits_per_element"] = result.bitsPerElement;
  json["cost_over_even"] = result.cost;
  json["heads"] = Json::array();
  for (const HeadShare &share : result.heads) {
    Json rows = Json::object();
    for (int bits = kMinRowBits; bits <= kMaxRowBits; ++bits)
      rows[std::to_string(bits)] = share.rows[bits];
    json["heads"].push_back({{"mean_bits", share.mean},
                             {"rows", rows},
                             {"median_lifetime", share.lifetime},
                             {"impact", share.impact}});
  }
  return json;
}

std::string toText(const Calibrated &result, const CalibrateOptions &options) {
  std::string text = fmt::format(
      "{}: {} tokens of {} trace{}; {:.4g} bits per code in the mean, {:.4g} "
      "per element in all\n\n",
      result.spec.name, result.tokens, options.traces.size(),
      options.traces.size() == 1 ? "" : "s", result.spec.state.bits.mean,
      result.bitsPerElement);
  text += fmt::format("{:<6}{:>6}  {:>4}{:>5}{:>5}{:>5}{:>5}{:>5}{:>5}"
                      "{:>12}{:>9}\n",
                      "head", "bits", "2", "3", "4", "5", "6", "7", "8",
                      "lifetime", "impact");
  for (size_t head = 0; head < result.heads.size(); ++head) {
    const HeadShare &share = result.heads[head];
    text += fmt::format("{:<6}{:>6.2f} ", head, share.mean);
    for (int bits = kMinRowBits; bits <= kMaxRowBits; ++bits)
      text += fmt::format("{:>5}", share.rows[bits]);
    text +=
        fmt::format("{:>12.1f}{:>8.1f}%\n", share.lifetime, 100 * share.impact);
  }
  return text +
         fmt::format("\nkey rows of each width; lifetime of the median row in "
                     "tokens; part of the impact of all heads\n"
                     "expected squared error of the outputs: {:.2g} of that of "
                     "bits dealt out evenly\nwritten to {}\n",
                     result.cost, options.output);
}

} // namespace

Command decant::tool::addCalibrate(CLI::App &root) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App *app = root.add_subcommand(
      "calibrate", "Decide from traces how many bits each key row gets");
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
            DECANT_TRY(writeOutputFile(
                options->output,
                planToJson(result.spec.heads, result.spec.state.bits.widths,
                           fmt::format("{} in {:.4g} bits, from {} tokens",
                                       result.spec.name,
                                       result.spec.state.bits.mean,
                                       result.tokens))));
            Report report;
            report.json = toJson(result, *options);
            report.text = toText(result, *options);
            return report;
          }};
}
