//===- NvrtcTest.cpp - every preset's rule through NVRTC ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled where NVRTC is installed: it takes what `--emit cuda` prints of
// every rule and every model preset, in float and in double.
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Nvrtc.h"
#include "decant/Compiler/CudaSource.h"
#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>

using namespace decant;

namespace {

std::shared_ptr<const Nvrtc> nvrtc() {
  auto loaded = Nvrtc::load(NVRTC_PATH);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded ? loaded.take() : nullptr;
}

CudaSource sourceOf(const PresetInfo &preset) {
  SpecSource source;
  source.spec = preset.kind == PresetKind::Model ? preset.name : "bytelm-gdn";
  if (preset.kind == PresetKind::Rule)
    source.overrides = {"rule=" + preset.name};
  auto spec = readSpec(source);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  auto text = emitCuda(*spec);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.take();
}

std::vector<PresetInfo> layers() {
  std::vector<PresetInfo> chosen;
  for (const PresetInfo &preset : listPresets())
    if (preset.kind != PresetKind::Method)
      chosen.push_back(preset);
  return chosen;
}

class NvrtcPresets : public testing::TestWithParam<PresetInfo> {};

TEST_P(NvrtcPresets, Compile) {
  const CudaSource source = sourceOf(GetParam());
  const auto compiler = nvrtc();
  ASSERT_TRUE(compiler);
  struct Case {
    int major;
    const char *real;
  };
  for (const Case &c : {Case{8, "float"}, Case{9, "double"}}) {
    const auto code =
        compiler->compile(source.text, GetParam().name + ".cu", c.major, 0,
                          {std::string("DECANT_REAL=") + c.real});
    ASSERT_TRUE(code.ok()) << code.status().message();
    EXPECT_EQ(code->kind, CodeKind::Cubin);
    EXPECT_EQ(code->target, c.major == 8 ? "sm_80" : "sm_90");
    EXPECT_EQ(code->bytes.substr(0, 4), "\177ELF");
    EXPECT_NE(code->bytes.find(source.entry.symbol), std::string::npos);
  }
}

// All functions that element-wise ops call are there for both types, without a
// header.
TEST(NvrtcLibrary, KnowsEveryFunction) {
  const auto compiler = nvrtc();
  ASSERT_TRUE(compiler);
  std::string text = "typedef DECANT_REAL real;\n"
                     "extern \"C\" __global__ void f(real *x) {\n"
                     "  real y = x[0], z = x[1];\n";
  for (const char *call :
       {"fmod(y, z)", "fmax(y, z)",     "fmin(y, z)", "fabs(y)", "atan(y)",
        "ceil(y)",    "copysign(y, z)", "cos(y)",     "erf(y)",  "exp(y)",
        "exp2(y)",    "expm1(y)",       "floor(y)",   "log(y)",  "log1p(y)",
        "log2(y)",    "pow(y, z)",      "sin(y)",     "sqrt(y)", "tan(y)",
        "tanh(y)",    "rint(y)",        "ldexp(y, 3)"})
    text += std::string("  { const real r = ") + call + "; x[2] += r; }\n";
  text += "  int e; x[3] = frexp(y, &e) + __int_as_float(e);\n}\n";
  for (const char *real : {"float", "double"}) {
    const auto code = compiler->compile(text, "functions.cu", 9, 0,
                                        {std::string("DECANT_REAL=") + real});
    EXPECT_TRUE(code.ok()) << code.status().message();
  }
}

INSTANTIATE_TEST_SUITE_P(All, NvrtcPresets, testing::ValuesIn(layers()),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           for (char &c : name)
                             if (!isalnum(c))
                               c = '_';
                           return name;
                         });

constexpr const char *kKernel =
    "extern \"C\" __global__ void f(float *x) { *x = X; }";

TEST(NvrtcLibrary, MakesPtxOfTheNewestArchitectureThatItKnows) {
  const auto compiler = nvrtc();
  ASSERT_TRUE(compiler);
  EXPECT_GE(compiler->version(), 12000);
  const auto code = compiler->compile(kKernel, "f.cu", 99, 0, {"X=1"});
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(code->kind, CodeKind::Ptx);
  EXPECT_NE(code->bytes.find(".target " + code->target), std::string::npos);
  EXPECT_NE(code->bytes.find(".entry f("), std::string::npos);
}

// No product is fused with a sum, and no function is an approximation: the
// text has neither, so neither has the code.
TEST(NvrtcLibrary, RoundsAfterEveryOperation) {
  const auto compiler = nvrtc();
  ASSERT_TRUE(compiler);
  const auto code = compiler->compile(
      "extern \"C\" __global__ void f(float *x) { *x = x[1] * x[2] + exp(x[3]) "
      "/ x[4]; }",
      "f.cu", 99, 0, {});
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_NE(code->bytes.find("mul.rn.f32"), std::string::npos) << code->bytes;
  EXPECT_NE(code->bytes.find("div.rn.f32"), std::string::npos) << code->bytes;
  // exp uses ex2.approx of a reduced argument, with corrections by fma.
  EXPECT_NE(code->bytes.find("fma.rn.f32"), std::string::npos) << code->bytes;
}

TEST(NvrtcLibrary, HandsItsMessagesOn) {
  const auto compiler = nvrtc();
  ASSERT_TRUE(compiler);
  const auto code = compiler->compile(kKernel, "layer.cu", 9, 0, {});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), StatusCode::JobFailed);
  EXPECT_NE(code.status().message().find("layer.cu(1): error: identifier \"X\" "
                                         "is undefined"),
            std::string::npos)
      << code.status().message();
  const auto old = compiler->compile(kKernel, "f.cu", 2, 0, {"X=1"});
  EXPECT_EQ(old.status().code(), StatusCode::Unavailable);
  EXPECT_NE(old.status().message().find("compute capability 2.0"),
            std::string::npos)
      << old.status().message();
}

} // namespace
