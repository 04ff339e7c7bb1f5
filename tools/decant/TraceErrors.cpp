//===- TraceErrors.cpp - what a format leaves of traces -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceErrors.h"

#include "Verify/ReferenceProgram.h"
#include "decant/Compiler/Compiler.h"
#include "decant/Reference/Calibration.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

Expected<TraceErrors> TraceErrors::create(const std::vector<std::string> &files,
                                          const DecodeSpec &layer,
                                          int64_t tokens) {
  TraceErrors errors;
  errors.layer = layer;
  DECANT_ASSIGN(const RuleInfo rule, describeRule(layer));
  errors.record = rule.record;
  // A window, so that tokens have records at all.
  DecodeSpec windowed = layer;
  windowed.state = StateSpec();
  windowed.window = WindowSpec();
  windowed.window.length = 2;
  windowed.tokensPerStep = 1;
  for (ElementType records :
       {ElementType::F32, ElementType::F16, ElementType::BF16}) {
    windowed.window.records = records;
    DECANT_ASSIGN(ReferencePrograms programs, referencePrograms(windowed));
    errors.stored.emplace(records, std::move(programs.stored));
    errors.rule = std::move(programs.exact);
  }
  for (const std::string &file : files) {
    Sequence sequence;
    DECANT_ASSIGN(Trace trace, readTrace(file));
    sequence.trace = std::make_unique<Trace>(std::move(trace));
    DECANT_ASSIGN(sequence.view,
                  bindTrace(*sequence.trace, layer, rule.inputs));
    sequence.tokens = std::min(tokens, sequence.view.tokens);
    DECANT_ASSIGN(sequence.exact, runReference(*errors.rule, sequence.view,
                                               layer.heads, sequence.tokens));
    errors.labels.push_back(fmt::format(
        "{}, {} tokens", std::filesystem::path(file).filename().string(),
        sequence.tokens));
    errors.sequences.push_back(std::move(sequence));
  }
  return Expected<TraceErrors>(std::move(errors));
}

int64_t TraceErrors::leastTokens() const {
  int64_t least = sequences.front().tokens;
  for (const Sequence &sequence : sequences)
    least = std::min(least, sequence.tokens);
  return least;
}

Expected<tune::FormatErrors> TraceErrors::of(const DecodeSpec &format) const {
  // The traced layer's heads with this format: bits that are dealt out evenly
  // are dealt out to its rows; a plan is for the rows that it names.
  DecodeSpec spec = layer;
  spec.state = format.state;
  spec.window = format.window;
  RowBits &bits = spec.state.bits;
  const int64_t rows = int64_t(spec.heads.value) * spec.heads.keyDim;
  if (int64_t(bits.widths.size()) != rows && !bits.widths.empty()) {
    if (bits.by != BitsRule::Even)
      return Status::invalid(fmt::format(
          "spec \"{}\": its plan has {} key rows; the traces have {}",
          format.name, bits.widths.size(), rows));
    bits.widths = evenRowBits(bits.mean, rows);
  }
  const SlotLayout layout = makeSlotLayout(spec, record);
  const ElementType records =
      spec.window.length > 1 ? spec.window.records : ElementType::F32;
  tune::FormatErrors worst;
  for (const Sequence &sequence : sequences) {
    DECANT_ASSIGN(const ReferenceRun run,
                  runReference(stored.at(records), sequence.view, spec.heads,
                               sequence.tokens, layout));
    // Not std::max, which would drop a NaN.
    const double output = relativeError(run.outputs, sequence.exact.outputs);
    const double state = relativeError(run.states, sequence.exact.states);
    if (!(output <= worst.output))
      worst.output = output;
    if (!(state <= worst.state))
      worst.state = state;
  }
  return worst;
}

Expected<tune::Plans>
TraceErrors::plans(const std::vector<double> &means) const {
  // What an error in a row does is the rule's and the traces'; how large it is
  // at each width, the codes' with compensators and scales as mixtures have
  // them.
  DecodeSpec spec = layer;
  spec.state = StateSpec();
  spec.state.codes = ElementType::I8;
  spec.state.scales = {{Axis::Key, ScaleFit::SqrtMeanAbs, ElementType::BF16, 0},
                       {Axis::Value, ScaleFit::AbsMax, ElementType::BF16, 0}};
  const int64_t rows = int64_t(spec.heads.value) * spec.heads.keyDim;
  spec.state.bits.mean = kMaxRowBits;
  spec.state.bits.widths = evenRowBits(kMaxRowBits, rows);
  spec.window.length = kMaxWindow;
  spec.window.compensators = kMaxCompensators / 2;
  spec.window.compensatorType = ElementType::I8;
  std::vector<TraceView> views;
  for (const Sequence &sequence : sequences)
    views.push_back(sequence.view);
  DECANT_ASSIGN(const RowStatistics statistics, calibrate(*rule, views, spec));
  const std::vector<CostByBits> costs = statistics.costs();
  tune::Plans plans;
  for (double mean : means)
    plans[mean] = allocateSlabBits(costs, int64_t(mean * double(rows) + 1e-6),
                                   spec.heads.keyDim);
  return plans;
}
