//===- CudaSourceTest.cpp - the rule as CUDA C++ is the rule --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rule preset and every input convention as `--emit cuda` prints it,
// compiled for the host (HostCuda.h), in float and in double, against the
// float64 reference.
//
//===----------------------------------------------------------------------===//

#include "decant/Compiler/CudaSource.h"
#include "EveryOp.h"
#include "HostKernels.h"
#include "Oracle.h"
#include "PlainRules.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kTokens = 6;
/// The second row is padding, and a slot of the pool is nobody's.
const std::vector<int32_t> kSlots = {3, -1, 1};
constexpr int64_t kRows = 3, kSlotCount = 4;
/// float64 against float64: 2^-53 = 1e-16 a rounding, a few hundred of them in
/// a sum over keys and tokens.
constexpr double kF64Bound = 1e-13;

struct SourceCase {
  std::string name;
  DecodeSpec spec;
  const PlainRule *rule = nullptr; // shapes the inputs
};

const PlainRule &ruleNamed(const std::string &name) {
  for (const PlainRule &rule : plainRules())
    if (rule.name == name)
      return rule;
  throw std::runtime_error("no rule " + name);
}

SourceCase caseOf(const PlainRule &rule, const std::string &name,
                  std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), rule.overrides.begin(),
                   rule.overrides.end());
  overrides.push_back("rule=" + rule.preset());
  return {name, makeSpec(overrides), &rule};
}

/// Reads a state after it was changed, so that two states live at once, and
/// yields the older one; holds constants of every kind.
const char kTwoStates[] = R"(
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
decant.rule @two_states(%S: !state, %q: !key, %k: !key, %v: !value, %a.b: !value,
                        %a_b: f32 {layer}, %w: !key {layer}) {
  %c = arith.constant dense<[0.5, 1.0, -0.5, 0.25, 0.5, 1.0, -0.5, 0.25,
                             0.5, 1.0, -0.5, 0.25, 0.5, 1.0, -0.5, 0.25]> : !key
  %half = arith.constant dense<0.5> : !value
  %kc = arith.mulf %k, %c : !key
  %kw = arith.mulf %kc, %w : !key
  %S1 = decant.write %S, %kw, %v : !state
  %S2 = decant.decay %S1, %half : !state, !value
  %S3 = decant.write %S2, %k, %a.b : !state
  %older = decant.read %S1, %q : !state
  %newer = decant.read %S3, %q : !state
  %oldest = decant.read %S, %q : !state
  %sum = arith.addf %older, %newer : !value
  %all = arith.addf %sum, %oldest : !value
  %yes = arith.constant true
  %scaled = decant.scale %all, %a_b : !value
  %o = arith.select %yes, %scaled, %all : !value
  decant.yield %S2, %o : !state
}
)";

std::vector<SourceCase> makeCases() {
  std::vector<SourceCase> cases;
  for (const PlainRule &rule : plainRules())
    cases.push_back(caseOf(rule, rule.name, {}));
  const std::vector<std::pair<std::string, std::vector<std::string>>>
      conventions = {
          {"bf16", {"inputs.type=bf16", "inputs.gate_type=bf16"}},
          {"f16", {"inputs.type=f16", "inputs.gate_type=f16"}},
          {"packed",
           {"inputs.layout=packed_qkv", "inputs.type=bf16", "heads.key=2",
            "heads.value=4"}},
          {"modulo", {"heads.key=2", "heads.value=6", "heads.map=modulo"}},
          {"group", {"heads.key=3", "heads.value=6"}},
          {"pad_non_positive", {"inputs.pad=non_positive"}},
          {"decay_linear", {"inputs.decay=linear"}},
          {"decay_softplus", {"inputs.decay=softplus"}},
          {"beta_sigmoid", {"inputs.beta=sigmoid", "inputs.beta_scale=2"}},
          {"beta_rounded_bf16",
           {"inputs.beta=sigmoid", "inputs.beta_round=bf16"}},
          {"beta_rounded_f16", {"inputs.beta_round=f16"}},
          {"eps_outside",
           {"inputs.qk_norm=l2_eps_outside", "inputs.norm_eps=0.25",
            "inputs.scale=12.5"}},
          {"dims", {"heads.key_dim=100", "heads.value_dim=48"}},
      };
  for (const auto &[name, overrides] : conventions)
    cases.push_back(caseOf(ruleNamed("gated_delta"), name, overrides));
  cases.push_back(
      {"two_states", makeSpecWithRule(kTwoStates, {"heads.key_dim=16",
                                                   "heads.value_dim=16"})});
  cases.push_back({"every_op", makeSpecWithRule(everyOpRule())});
  return cases;
}
const std::vector<SourceCase> &cases() {
  static const std::vector<SourceCase> all = makeCases();
  return all;
}

//===----------------------------------------------------------------------===//
// All texts as one library
//===----------------------------------------------------------------------===//

class HostLibrary {
public:
  HostLibrary() : kernels(textsOf(sources)) {}

  const CudaSource &source(size_t i) const { return sources[i]; }
  HostKernels::Launch launch(size_t i, const char *real) const {
    return kernels.find(nameOf(i, real));
  }

private:
  static std::string nameOf(size_t i, const char *real) {
    return fmt::format("case_{}_{}", i, real);
  }
  static std::vector<HostKernels::Text>
  textsOf(std::vector<CudaSource> &sources) {
    std::vector<HostKernels::Text> texts;
    for (size_t i = 0; i < cases().size(); ++i) {
      sources.push_back(valueOf(emitCuda(cases()[i].spec)));
      for (const char *real : {"float", "double"})
        texts.push_back({nameOf(i, real), real, sources.back().text});
    }
    return texts;
  }

  std::vector<CudaSource> sources;
  HostKernels kernels;
};

const HostLibrary &library() {
  static const HostLibrary all;
  return all;
}

//===----------------------------------------------------------------------===//
// A layer of it
//===----------------------------------------------------------------------===//

/// Buffers of one kernel; whatever it must not read is NaN.
template <typename Real> class SourceLayer {
public:
  SourceLayer(size_t number, unsigned threads)
      : spec(cases()[number].spec), source(library().source(number)),
        launch(library().launch(
            number, std::is_same_v<Real, float> ? "float" : "double")),
        threads(threads) {
    const HeadShape &heads = spec.heads;
    stateSize = int64_t(heads.keyDim) * heads.valueDim;
    const Real nan = std::numeric_limits<Real>::quiet_NaN();
    state.assign(kSlotCount * heads.value * stateSize, nan);
    carried.assign(kSlotCount * heads.value * source.carried * heads.keyDim,
                   nan);
    for (int32_t slot : kSlots)
      if (slot >= 0) {
        clear(state, slot);
        clear(carried, slot);
      }
    out.assign(kRows * heads.value * heads.valueDim, nan);
    work.assign(kRows * heads.value * source.workSize, nan);
  }

  void step(const Token &token) {
    inputs.clear();
    std::vector<void *> args;
    for (const KernelArg &arg : source.entry.args) {
      void *data = arg.name == "state"     ? state.data()
                   : arg.name == "carried" ? carried.data()
                   : arg.name == "out"     ? out.data()
                   : arg.name == "work"    ? work.data()
                                           : nullptr;
      if (arg.name == "slots")
        data = const_cast<int32_t *>(kSlots.data());
      if (!data) {
        inputs.push_back(bytesOf(arg, token));
        data = inputs.back().data();
      }
      args.push_back(data);
    }
    launch(unsigned(kRows * spec.heads.value), threads, args.data());
  }

  /// Of the rows that are no padding.
  std::vector<double> outputs() const {
    return live(out, int64_t(spec.heads.value) * spec.heads.valueDim, true);
  }
  std::vector<double> states() const {
    return live(state, spec.heads.value * stateSize, false);
  }
  std::vector<double> carriedVectors() const {
    return live(carried,
                int64_t(spec.heads.value) * source.carried * spec.heads.keyDim,
                false);
  }
  bool paddingIsZero() const {
    const int64_t width = int64_t(spec.heads.value) * spec.heads.valueDim;
    for (int64_t i = width; i < 2 * width; ++i)
      if (out[i] != 0)
        return false;
    return true;
  }
  bool othersUntouched() const {
    const int64_t width = spec.heads.value * stateSize;
    for (int64_t slot : {0, 2})
      for (int64_t i = slot * width; i < (slot + 1) * width; ++i)
        if (!std::isnan(state[i]))
          return false;
    return true;
  }
  bool operator==(const SourceLayer &other) const {
    return outputs() == other.outputs() && states() == other.states() &&
           carriedVectors() == other.carriedVectors();
  }

private:
  void clear(std::vector<Real> &all, int64_t slot) {
    const int64_t width = int64_t(all.size()) / kSlotCount;
    std::fill_n(all.begin() + slot * width, width, Real(0));
  }
  std::vector<double> live(const std::vector<Real> &all, int64_t width,
                           bool byRow) const {
    std::vector<double> result;
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t at = byRow ? row : kSlots[row];
      if (kSlots[row] >= 0)
        result.insert(result.end(), all.begin() + at * width,
                      all.begin() + (at + 1) * width);
    }
    return result;
  }

  std::vector<uint8_t> bytesOf(const KernelArg &arg, const Token &token) const {
    std::vector<double> values;
    if (arg.name == "qkv")
      for (int64_t row = 0; row < kRows; ++row)
        for (const char *name : {"q", "k", "v"}) {
          const std::vector<double> &all = token.at(name);
          const int64_t width = int64_t(all.size()) / kRows;
          values.insert(values.end(), all.begin() + row * width,
                        all.begin() + (row + 1) * width);
        }
    else
      values = token.at(arg.name);
    const int size = elementBytes(arg.type);
    std::vector<uint8_t> bytes(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i)
      storeElement(arg.type, values[i], &bytes[i * size]);
    return bytes;
  }

  const DecodeSpec &spec;
  const CudaSource &source;
  HostKernels::Launch launch;
  unsigned threads;
  int64_t stateSize = 0;
  std::vector<Real> state, carried, out, work;
  std::vector<std::vector<uint8_t>> inputs;
};

/// Of [rows, ...], those that are no padding.
std::vector<double> liveRows(const std::vector<double> &all) {
  const int64_t width = int64_t(all.size()) / kRows;
  std::vector<double> result(all.begin(), all.begin() + width);
  result.insert(result.end(), all.begin() + 2 * width, all.end());
  return result;
}

class CudaSources : public testing::TestWithParam<size_t> {
protected:
  template <typename Real> void expectRule(double bound) {
    const SourceCase &test = cases()[GetParam()];
    SlotLayout layout;
    layout.keyDim = test.spec.heads.keyDim;
    layout.valueDim = test.spec.heads.valueDim;
    Oracle reference(test.spec, layout, kRows);
    std::optional<PlainLayer> plain;
    if (test.rule)
      plain.emplace(*test.rule, test.spec, kRows);
    SourceLayer<Real> one(GetParam(), 1), three(GetParam(), 3);
    for (int token = 0; token < kTokens; ++token) {
      Token now = makeToken(reference, token);
      if (plain)
        now = plain->shaped(now);
      // As the kernel gets them.
      for (auto &[name, values] : now)
        for (const KernelArg &arg : library().source(GetParam()).entry.args)
          if (arg.name == name || (arg.name == "qkv" && name.size() == 1))
            for (double &value : values)
              value = roundTo(arg.type, value);
      const std::vector<double> expected = liveRows(reference.step(now));
      one.step(now);
      three.step(now);
      ASSERT_TRUE(allFinite(expected));
      ASSERT_LE(relativeError(one.outputs(), expected), bound)
          << "output of token " << token;
      ASSERT_LE(relativeError(one.states(), liveRows(reference.states)), bound)
          << "state after token " << token;
      if (!reference.carried.empty()) {
        ASSERT_LE(
            relativeError(one.carriedVectors(), liveRows(reference.carried)),
            bound)
            << "carried by token " << token;
      }
    }
    EXPECT_TRUE(one.paddingIsZero());
    EXPECT_TRUE(one.othersUntouched());
    // Threads that do not wait for one another leave other numbers.
    EXPECT_TRUE(one == three);
  }
};

TEST_P(CudaSources, ComputeTheRuleInFloat) { expectRule<float>(kF32Bound); }
TEST_P(CudaSources, ComputeTheRuleInDouble) { expectRule<double>(kF64Bound); }

std::vector<size_t> allNumbers() {
  std::vector<size_t> numbers(cases().size());
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = i;
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(All, CudaSources, testing::ValuesIn(allNumbers()),
                         [](const auto &info) {
                           std::string name = cases()[info.param].name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(CudaSource, RefusesWhatItCannotSay) {
  std::string rule = kTwoStates;
  const std::string known = "arith.select %yes, %scaled, %all : !value";
  rule.replace(rule.find(known), known.size(), "math.cbrt %all : !value");
  const Status status = emitCuda(makeSpecWithRule(rule, {"heads.key_dim=16",
                                                         "heads.value_dim=16"}))
                            .status();
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find("@two_states: "), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("math.cbrt"), std::string::npos)
      << status.message();
}

} // namespace
