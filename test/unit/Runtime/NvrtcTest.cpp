//===- NvrtcTest.cpp - opening NVRTC --------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is missing, and what a compiler that is none (FakeNvrtc.c) is asked for.
// test/unit/Target/NvrtcTest.cpp compiles, where there is one.
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Nvrtc.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace decant;

namespace {

TEST(Nvrtc, SaysThatThereIsNone) {
  const auto nvrtc = Nvrtc::load("no-such-folder/libnvrtc.so.13");
  ASSERT_FALSE(nvrtc.ok());
  EXPECT_EQ(nvrtc.status().code(), StatusCode::Unavailable);
  const std::string &text = nvrtc.status().message();
  EXPECT_EQ(text.find("no NVRTC: no-such-folder/libnvrtc.so.13 cannot be "
                      "opened ("),
            0u)
      << text;
  EXPECT_NE(text.find("install libnvrtc"), std::string::npos) << text;
}

TEST(Nvrtc, NamesAMissingFunction) {
  const auto nvrtc = Nvrtc::load(FAKE_CUDA_PATH); // a library, but another one
  ASSERT_FALSE(nvrtc.ok());
  EXPECT_EQ(nvrtc.status().code(), StatusCode::Unavailable);
  EXPECT_NE(
      nvrtc.status().message().find("has no function nvrtcGetErrorString"),
      std::string::npos)
      << nvrtc.status().message();
}

constexpr const char *kKernel = "__global__ void f(\nint a) {}";

std::shared_ptr<const Nvrtc> fakeNvrtc() {
  auto nvrtc = Nvrtc::load(FAKE_NVRTC_PATH);
  EXPECT_TRUE(nvrtc.ok()) << nvrtc.status().message();
  return nvrtc.take();
}

std::string lastOptions() {
  void *library = dlopen(FAKE_NVRTC_PATH, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<const char *(*)()>(
      dlsym(library, "fakeNvrtcOptions"))();
}

TEST(Nvrtc, MakesACubinForTheDevice) {
  const auto nvrtc = fakeNvrtc();
  EXPECT_EQ(nvrtc->version(), 13000);
  EXPECT_EQ(nvrtc->path(), FAKE_NVRTC_PATH);
  const auto code = nvrtc->compile(kKernel, "f.cu", 9, 0, {"A=1", "B=2"});
  ASSERT_TRUE(code.ok()) << code.status().message();
  EXPECT_EQ(code->kind, CodeKind::Cubin);
  EXPECT_EQ(code->target, "sm_90");
  EXPECT_EQ(code->bytes.find("cubin 9.0\nfn f args=1 "), 0u) << code->bytes;
  // No fast math, and no contraction.
  EXPECT_EQ(lastOptions(), "--gpu-architecture=sm_90 --std=c++17 --fmad=false "
                           "--define-macro=A=1 --define-macro=B=2 ");
}

TEST(Nvrtc, MakesPtxForADeviceThatItDoesNotKnow) {
  // Between two that it knows, and after the last.
  for (auto [major, minor, target, option] :
       {std::tuple(8, 9, "sm_80", "compute_80 "),
        std::tuple(12, 1, "sm_100", "compute_100 ")}) {
    const auto code = fakeNvrtc()->compile(kKernel, "f.cu", major, minor, {});
    ASSERT_TRUE(code.ok()) << code.status().message();
    EXPECT_EQ(code->kind, CodeKind::Ptx);
    EXPECT_EQ(code->target, target);
    EXPECT_NE(lastOptions().find(option), std::string::npos) << lastOptions();
  }
  const auto old = fakeNvrtc()->compile(kKernel, "f.cu", 7, 5, {});
  EXPECT_EQ(old.status().code(), StatusCode::Unavailable);
  EXPECT_NE(old.status().message().find("of CUDA 13.0 does not know compute "
                                        "capability 7.5"),
            std::string::npos)
      << old.status().message();
}

TEST(Nvrtc, HandsItsMessagesOn) {
  const auto code = fakeNvrtc()->compile("#error", "layer.cu", 9, 0, {});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), StatusCode::JobFailed);
  EXPECT_EQ(code.status().message(),
            "layer.cu: nvrtcCompileProgram failed: NVRTC_ERROR_COMPILATION (6)"
            "; it says: layer.cu(1): error: not today");
}

} // namespace
