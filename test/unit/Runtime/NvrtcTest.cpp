//===- NvrtcTest.cpp - opening NVRTC --------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is missing. test/unit/Target/NvrtcTest.cpp compiles, where there is one.
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Nvrtc.h"

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

} // namespace
