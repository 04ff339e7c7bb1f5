//===- SpecErrors.cpp - a spec's errors over a trace ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecErrors.h"

#include "TraceDecoder.h"
#include "Verify/ReferenceProgram.h"
#include "decant/Reference/ReferenceRun.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

using Values = std::vector<double>;

Values part(const Values &values, int64_t begin, int64_t end) {
  return Values(values.begin() + begin, values.begin() + end);
}

/// The states of the float64 rule at the points, [value heads, keys, values].
struct ExactRun {
  Values outputs;
  std::vector<Values> states;
};

Expected<ExactRun> runExact(const DecodeSpec &spec, const TraceView &view,
                            const std::vector<int64_t> &points) {
  DECANT_ASSIGN(const ReferencePrograms rules, referencePrograms(spec));
  const HeadShape &heads = spec.heads;
  const int64_t perHead = int64_t(heads.keyDim) * heads.valueDim;
  ExactRun exact;
  exact.states.assign(points.size(), Values(heads.value * perHead));
  auto keep = [&](int64_t token, int head, const double *state) {
    const auto found =
        std::lower_bound(points.begin(), points.end(), token + 1);
    if (found != points.end() && *found == token + 1)
      std::copy(state, state + perHead,
                exact.states[found - points.begin()].begin() + head * perHead);
  };
  DECANT_ASSIGN(ReferenceRun run,
                runReference(rules.exact, view, heads, points.back(), keep));
  exact.outputs = std::move(run.outputs);
  return exact;
}

} // namespace

Expected<SpecErrors>
decant::tool::measureErrors(const DecodeSpec &spec, const Trace &trace,
                            int64_t tokens, int64_t every, Engine &engine,
                            const std::shared_ptr<Device> &device) {
  if (spec.tokensPerStep > 1)
    return Status::invalid(fmt::format(
        "spec \"{}\": tokens_per_step is {}; decant eval looks at the state "
        "after single tokens, 1 is allowed",
        spec.name, spec.tokensPerStep));
  SpecErrors errors;
  errors.spec = spec;
  DECANT_ASSIGN(const RuleInfo rule, describeRule(spec));
  DECANT_ASSIGN(const TraceView view, bindTrace(trace, spec, rule.inputs));
  DECANT_ASSIGN(const std::unique_ptr<Program> program,
                engine.prepare(spec, device));
  errors.program = program->info();
  DECANT_ASSIGN(TraceDecoder decoder,
                TraceDecoder::create(*program, device, spec, view));

  std::vector<int64_t> points;
  for (int64_t token = every; token < tokens; token += every)
    points.push_back(token);
  points.push_back(tokens);
  DECANT_ASSIGN(const ExactRun exact, runExact(spec, view, points));
  auto look = [&](int64_t token, const Values &states) {
    ErrorPoint point;
    point.token = token;
    point.state = relativeError(states, exact.states[errors.points.size()]);
    errors.meanState += point.state / double(points.size());
    errors.points.push_back(point);
  };
  DECANT_ASSIGN(const DecodedTrace decoded, decoder.decode(points, look));

  const int64_t row = int64_t(spec.heads.value) * spec.heads.valueDim;
  int64_t begin = 0;
  for (ErrorPoint &point : errors.points) {
    point.output =
        relativeError(part(decoded.outputs, begin * row, point.token * row),
                      part(exact.outputs, begin * row, point.token * row));
    begin = point.token;
  }
  errors.output = relativeError(decoded.outputs, exact.outputs);
  errors.state = errors.points.back().state;
  return errors;
}
