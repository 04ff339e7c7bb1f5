//===- VerifyTest.cpp - right kernels pass, wrong ones do not -------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of the CPU device against the float64 reference and against the rule
// as CUDA C++, which a host compiler stands in for NVRTC with. A wrong kernel
// is a right one of another spec, or one whose image says something wrong of
// it.
//
//===----------------------------------------------------------------------===//

#include "Verify/Verify.h"
#include "../Runtime/FakeCudaTest.h"
#include "HostKernels.h"
#include "MmaLayer.h"
#include "Specs.h"
#include "Verify/CudaOracle.h"
#include "Verify/PresetLayers.h"
#include "Verify/SyntheticTokens.h"
#include "decant/Core/Numeric.h"
#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>
#include <set>

using namespace decant;
using namespace decant::test;

namespace {

std::shared_ptr<Device> cpu() {
  return valueOf(sharedEngine().openDevice("cpu"));
}

KernelImage imageOf(const DecodeSpec &spec) {
  CompileOptions options;
  options.target = valueOf(targetFor(*cpu()));
  return valueOf(sharedEngine().image(spec, options));
}

std::unique_ptr<Program> programOf(const DecodeSpec &spec) {
  return valueOf(Program::create(cpu(), imageOf(spec)));
}

const std::vector<std::string> kInt8 = {
    R"(state={"codes": "int8", "scale": [)"
    R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
    R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
    "window.length=8", "window.compensators=2", "window.records=f16"};

std::vector<std::string> with(std::vector<std::string> overrides,
                              const std::vector<std::string> &more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

VerifyResult check(const DecodeSpec &spec, const Program &program,
                   const VerifyCase &situation) {
  Verifier verifier = valueOf(Verifier::create(spec, cpu()));
  EXPECT_TRUE(verifier.oracleName().empty());
  return valueOf(verifier.check(program, situation));
}

//===----------------------------------------------------------------------===//
// Right ones
//===----------------------------------------------------------------------===//

TEST(Verify, GridHasMixedFillsWhereRowsCanJoinLater) {
  auto sizes = [](const std::vector<std::string> &overrides) {
    return verifyGrid(makeSpec(overrides), {1, 7}).size();
  };
  EXPECT_EQ(sizes({}), 2u); // no window
  EXPECT_EQ(sizes(kInt8), 3u);
  EXPECT_EQ(sizes(with(kInt8, {"inputs.pad=none"})), 2u);
  EXPECT_EQ(sizes(with(kInt8, {"inputs.pad=none", "tokens_per_step=2"})), 3u);
}

TEST(Verify, CountsWhatItCompares) {
  const DecodeSpec spec = makeSpec(kInt8);
  const VerifyResult result = check(spec, *programOf(spec), {7, Fills::Mixed});
  EXPECT_TRUE(result.ok()) << result.failure;
  // The last of three sequences joins after 2 (8 / 3 + 1) steps and decodes a
  // window and 4 tokens; the others go on as long.
  EXPECT_EQ(result.steps, 6 + 12);
  EXPECT_EQ(result.tokens, 2 * (18 + 15 + 12));
  // Folds after 8 and 16 tokens, of a head each, and one of what is left.
  EXPECT_EQ(result.folds, 2 * ((2 + 1) + (1 + 1) + (1 + 1)));
  EXPECT_GT(result.codec, 1e-3);
  EXPECT_FALSE(result.oracle.has_value());
}

// To the bit, whoever computes which head.
TEST(Verify, ErrorsDoNotDependOnThreads) {
  const DecodeSpec spec =
      makeSpec(with(kInt8, {"heads.key=1", "heads.value=5"}));
  const auto program = programOf(spec);
  const VerifyResult one = check(spec, *program, {3, Fills::Mixed});
  for (unsigned threads : {2, 5, 16}) {
    VerifyOptions options;
    options.threads = threads;
    Verifier verifier = valueOf(Verifier::create(spec, cpu(), options));
    const VerifyResult many =
        valueOf(verifier.check(*program, {3, Fills::Mixed}));
    EXPECT_TRUE(many.ok()) << many.failure;
    EXPECT_EQ(many.tokens, one.tokens);
    EXPECT_EQ(many.states, one.states);
    EXPECT_EQ(many.folds, one.folds);
    EXPECT_EQ(many.output, one.output);
    EXPECT_EQ(many.state, one.state);
    EXPECT_EQ(many.fold, one.fold);
    EXPECT_EQ(many.codec, one.codec);
  }
}

TEST(Verify, TakesSeveralTokensPerStep) {
  const DecodeSpec spec = makeSpec(with(kInt8, {"tokens_per_step=3"}));
  const auto program = programOf(spec);
  for (Fills fills : {Fills::Equal, Fills::Mixed}) {
    const VerifyResult result = check(spec, *program, {4, fills});
    EXPECT_TRUE(result.ok()) << result.failure;
  }
}

TEST(Verify, TakesTheLanesOfTensorCores) {
  const MmaCase test = {"kda", "smooth_key_value", 1, 2, 32, 32};
  const DecodeSpec spec = test.spec();
  CompileOptions options;
  options.target = valueOf(targetFor(*cpu()));
  options.schedule = mmaScheduleOf(spec, test.record());
  options.order = CodeOrder::Fragments;
  const auto program = valueOf(
      Program::create(cpu(), valueOf(sharedEngine().image(spec, options))));
  EXPECT_TRUE(program->info().tensorCores);
  const VerifyResult result = check(spec, *program, {3, Fills::Equal});
  EXPECT_TRUE(result.ok()) << result.failure;
}

TEST(Verify, IsOkInOneCall) {
  const DecodeSpec spec = makeSpec(kInt8);
  EXPECT_TRUE(checkAgainstOracle(spec, cpu(), *programOf(spec)).ok());
}

TEST(Verify, LooksAtEveryVariant) {
  const DecodeSpec spec = makeSpec(kInt8);
  ProgramImages images;
  images.decode = {imageOf(spec), imageOf(spec)};
  images.rules = {{8, 0}, {40, 1}, {2000, 0}, {kAnyRows, 1}};
  const auto program = valueOf(Program::create(cpu(), std::move(images)));
  EXPECT_EQ(verifyBatches(*program), (std::vector<int64_t>{1, 7, 9, 41}));
  EXPECT_EQ(verifyBatches(*programOf(spec)), (std::vector<int64_t>{1, 7}));
}

//===----------------------------------------------------------------------===//
// Wrong ones
//===----------------------------------------------------------------------===//

void expectFailure(const DecodeSpec &spec, const Program &program,
                   const std::string &what) {
  const Status status = checkAgainstOracle(spec, cpu(), program);
  EXPECT_EQ(status.code(), StatusCode::JobFailed) << status.message();
  EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
}

TEST(Verify, FindsAnotherRule) {
  const DecodeSpec spec = makeSpec(kInt8);
  expectFailure(spec, *programOf(makeSpec(with(kInt8, {"rule=simple_gla"}))),
                "execution, batch 1, equal fills: the outputs' error is ");
}

TEST(Verify, FindsAnotherConvention) {
  const DecodeSpec spec = makeSpec(kInt8);
  expectFailure(spec,
                *programOf(makeSpec(with(kInt8, {"inputs.norm_eps=1e-4"}))),
                "the outputs' error is ");
}

TEST(Verify, FindsRecordsOfAnotherType) {
  const std::vector<std::string> f32 = {"window.length=8",
                                        "window.records=f32"};
  expectFailure(makeSpec(f32),
                *programOf(makeSpec(with(f32, {"window.records=f16"}))),
                "the states' error is ");
}

TEST(Verify, FindsAPoorerFit) {
  const DecodeSpec spec =
      makeSpec({R"(state={"codes": "int4", "scale": [)"
                R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
                "window.length=4"});
  KernelImage image = imageOf(spec);
  image.layout.scales[0].fit = ScaleFit::LeastSquares;
  expectFailure(spec, *valueOf(Program::create(cpu(), std::move(image))),
                "the error of folds is ");
}

//===----------------------------------------------------------------------===//
// Two oracles
//===----------------------------------------------------------------------===//

/// A kernel of HostKernels as an image that the CPU device has loaded.
class HostImageOfText final : public LoadedImage {
public:
  HostImageOfText(KernelImage image, HostKernels::Launch run)
      : loaded(std::move(image)), run(run) {}
  const KernelImage &image() const override { return loaded; }
  const std::vector<KernelResources> &resources() const override {
    return none;
  }
  Status launch(int entry, int64_t blocks, const ArgValue *args,
                StreamHandle) const override {
    std::vector<void *> pointers;
    for (size_t i = 0; i < loaded.entries[entry].args.size(); ++i)
      pointers.push_back(const_cast<void *>(args[i].pointer));
    run(unsigned(blocks), 1, pointers.data());
    return {};
  }

private:
  KernelImage loaded;
  std::vector<KernelResources> none;
  HostKernels::Launch run;
};

/// A verifier of `spec` whose second oracle is the rule of `other`.
Verifier verifierWithText(const DecodeSpec &spec, const DecodeSpec &other) {
  CudaSource source = valueOf(emitCuda(other));
  // Never closed, as any library of kernels.
  const HostKernels kernels({{"oracle", "double", source.text}});
  KernelImage image;
  image.entries = {source.entry};
  auto kernel = std::make_unique<HostImageOfText>(std::move(image),
                                                  kernels.find("oracle"));
  return valueOf(Verifier::create(
      spec, cpu(),
      std::make_unique<CudaOracle>(spec.heads, std::move(source), cpu(),
                                   std::move(kernel)),
      "a host compiler"));
}

TEST(VerifyTwice, AgreesWithBoth) {
  // Of everything something: a carried vector, packed inputs, bf16, padding
  // that has slot 0, several reads.
  for (const std::vector<std::string> &overrides :
       {std::vector<std::string>{"rule=precond_gated_delta", "inputs.type=bf16",
                                 "inputs.output=bf16"},
        {"inputs.layout=packed_qkv", "inputs.output=f16",
         "inputs.pad=non_positive", "tokens_per_step=3"}}) {
    const DecodeSpec spec = makeSpec(with(kInt8, overrides));
    Verifier verifier = verifierWithText(spec, spec);
    EXPECT_EQ(verifier.oracleName(), "a host compiler");
    const VerifyResult result =
        valueOf(verifier.check(*programOf(spec), {4, Fills::Mixed}));
    EXPECT_TRUE(result.ok()) << result.failure;
    ASSERT_TRUE(result.oracle.has_value());
    EXPECT_LE(result.oracle->disagreement, 1e-13);
    EXPECT_GT(result.oracle->state, 1e-5) << "records are rounded";
  }
}

TEST(VerifyTwice, SaysThatTheOraclesDisagree) {
  // By 2e-7, which the kernel is allowed to differ by and an oracle is not.
  const DecodeSpec spec = makeSpec(kInt8);
  Verifier verifier = verifierWithText(
      spec, makeSpec(with(kInt8, {"inputs.scale=0.17677673"})));
  const VerifyResult result =
      valueOf(verifier.check(*programOf(spec), {1, Fills::Equal}));
  EXPECT_NE(result.failure.find("the two oracles' disagreement is "),
            std::string::npos)
      << result.failure;
}

//===----------------------------------------------------------------------===//
// What a CUDA device is asked for
//===----------------------------------------------------------------------===//

class VerifyOnCuda : public FakeCudaTest {};

// The fake driver runs nothing: states come back as they went.
TEST_F(VerifyOnCuda, LaunchesTheRule) {
  const DecodeSpec spec = makeSpec({"rule=precond_gated_delta"});
  const SyntheticTokens tokens(
      spec,
      {{"q", RuleInput::KeyVector, RuleInput::Row},
       {"k", RuleInput::KeyVector, RuleInput::Row},
       {"v", RuleInput::ValueVector, RuleInput::Row},
       {"decay", RuleInput::Scalar, RuleInput::Row},
       {"beta", RuleInput::Scalar, RuleInput::Row},
       {"g_atk", RuleInput::Scalar, RuleInput::Gate},
       {"beta_atk", RuleInput::Scalar, RuleInput::Gate}},
      true);
  const auto nvrtc = valueOf(Nvrtc::load(FAKE_NVRTC_PATH));
  CudaOracle oracle = valueOf(CudaOracle::create(spec, openDevice(), *nvrtc));
  DenseStates states;
  for (int i = 0; i < 3 * 2 * 32 * 24; ++i)
    states.states.push_back(i);
  for (int i = 0; i < 3 * 2 * 32; ++i)
    states.carried.push_back(-i);
  const DenseStates before = states;
  const std::vector<double> outputs = valueOf(oracle.step(
      tokens, {tokens.token(0, 0), tokens.token(1, 0), tokens.token(2, 0)},
      states));
  EXPECT_EQ(outputs.size(), 3u * 2 * 24);
  EXPECT_EQ(states.states, before.states);
  EXPECT_EQ(states.carried, before.carried);
  ASSERT_EQ(fake->launchCount, 1);
  EXPECT_STREQ(launch(0).function, "decant_rule");
  EXPECT_EQ(launch(0).grid[0], 3u * 2);
  EXPECT_EQ(launch(0).block[0], 128u);
  // state, carried, slots, seven inputs, out and work.
  EXPECT_EQ(launch(0).argCount, 12);
  EXPECT_EQ(fake->jits, 0) << "a cubin for the device";
}

TEST_F(VerifyOnCuda, NeedsNvrtcUnlessItMayDoWithout) {
  const DecodeSpec spec = makeSpec();
  VerifyOptions options;
  options.nvrtc = "/nowhere/libnvrtc.so";
  const Status status = Verifier::create(spec, openDevice(), options).status();
  EXPECT_EQ(status.code(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("/nowhere/libnvrtc.so"), std::string::npos);
  for (OraclePolicy policy : {OraclePolicy::IfPresent, OraclePolicy::None}) {
    options.oracle = policy;
    EXPECT_EQ(
        valueOf(Verifier::create(spec, openDevice(), options)).oracleName(),
        "");
  }
  options.nvrtc = FAKE_NVRTC_PATH;
  options.oracle = OraclePolicy::Require;
  EXPECT_EQ(valueOf(Verifier::create(spec, openDevice(), options)).oracleName(),
            FAKE_NVRTC_PATH " of CUDA 13.0");
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

TEST(BeyondRounding, IsWhatHalfAStepDoesNotExplain) {
  // Between 1 and 2, bf16 has steps of 2^-7.
  EXPECT_EQ(beyondRounding(ElementType::BF16, 1, 1 + 0x1p-8), 0);
  EXPECT_EQ(beyondRounding(ElementType::BF16, 1, 1 + 0x1p-8 + 0x1p-20),
            0x1p-20);
  EXPECT_EQ(beyondRounding(ElementType::F16, -1, -1 - 0x1p-11 - 0x1p-30),
            0x1p-30);
  EXPECT_EQ(beyondRounding(ElementType::F32, 1, 1 + 0x1p-30), 0x1p-30);
  EXPECT_TRUE(std::isnan(beyondRounding(ElementType::BF16, std::nan(""), 1)));
}

TEST(SyntheticTokens, AreAsTheirTypesHaveThem) {
  const DecodeSpec spec =
      makeSpec({"inputs.type=bf16", "heads.key=2", "heads.value=4"});
  const SyntheticTokens tokens(spec,
                               {{"q", RuleInput::KeyVector, RuleInput::Row},
                                {"v", RuleInput::ValueVector, RuleInput::Row},
                                {"decay", RuleInput::Scalar, RuleInput::Row},
                                {"A_log", RuleInput::Scalar, RuleInput::Row}},
                               false);
  const auto one = tokens.token(0, 5), again = tokens.token(0, 5),
             other = tokens.token(1, 5);
  EXPECT_EQ(one, again);
  EXPECT_NE(one[0], other[0]);
  EXPECT_EQ(one[3], other[3]) << "A_log belongs to the layer";
  EXPECT_EQ(one[0].size(), 2u * 32);
  EXPECT_EQ(one[1].size(), 4u * 24);
  for (double x : one[0])
    EXPECT_EQ(x, roundTo(ElementType::BF16, x));
  // Value heads 2 and 3 read key head 1.
  const auto head = tokens.ofHead(one, 3);
  EXPECT_EQ(head[0], std::vector<double>(one[0].begin() + 32, one[0].end()));
  EXPECT_EQ(head[2], std::vector<double>{one[2][3]});
  std::vector<uint8_t> bytes;
  EXPECT_TRUE(tokens.append(one, "v", bytes).ok());
  EXPECT_EQ(bytes.size(), 2u * 4 * 24);
  EXPECT_EQ(loadElement(ElementType::BF16, &bytes[2]), one[1][1]);
  EXPECT_EQ(tokens.append(one, "x", bytes).code(), StatusCode::Internal);
}

TEST(PresetLayers, HaveEveryPreset) {
  std::set<std::string> named;
  for (PresetKind kind :
       {PresetKind::Model, PresetKind::Method, PresetKind::Rule})
    for (const SpecSource &source : presetLayers(kind)) {
      const DecodeSpec spec = valueOf(readSpec(source));
      named.insert(spec.name.substr(0, spec.name.find('/')));
      EXPECT_TRUE(check(spec).empty()) << spec.name;
    }
  for (const PresetInfo &preset : listPresets())
    EXPECT_TRUE(named.count(preset.name)) << preset.name;
}

} // namespace
