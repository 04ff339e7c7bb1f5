//===- ProgramFixture.h - a program on a fake device ---------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_RUNTIME_PROGRAMFIXTURE_H
#define DECANT_TEST_UNIT_RUNTIME_PROGRAMFIXTURE_H

#include "FakeDevice.h"
#include "TestImages.h"
#include "decant/Runtime/Program.h"

#include <gtest/gtest.h>

namespace decant {
namespace test {

/// An address that nothing lies at: only its number matters.
template <typename T = void> T *at(int64_t address) {
  return reinterpret_cast<T *>(address);
}

class ProgramFixture : public ::testing::Test {
protected:
  void make(KernelImage decode, std::optional<KernelImage> transfer) {
    program.reset();
    device = std::make_shared<FakeDevice>();
    auto made = Program::create(device, std::move(decode), std::move(transfer));
    ASSERT_TRUE(made.ok()) << made.status().message();
    program = made.take();
  }
  void SetUp() override { make(decodeImage(8), transferImage(8)); }

  /// A sound step of three rows, with packed strides.
  StepCall goodCall() const {
    StepCall call;
    call.pool = {at(0x10000000000), 0, 100};
    call.rows = {at<int32_t>(0x1004), 0, 3};
    call.qkv = {at(0x2000), 0};
    call.decay = {at(0x3002), 0};
    call.beta = {at(0x4002), 0};
    call.aLog = at(0x5004);
    call.dtBias = at(0x6004);
    call.out = at(0x7000);
    call.stream = at(0x99);
    return call;
  }

  /// The value that a recorded launch gave to the argument of that name.
  int64_t argument(int launch, const KernelEntry &entry,
                   const std::string &name) const {
    for (size_t i = 0; i < entry.args.size(); ++i)
      if (entry.args[i].name == name)
        return device->log->launches[launch].args[i].integer;
    ADD_FAILURE() << "no argument " << name;
    return -1;
  }

  /// `status` is a refusal with `text` in it, and nothing was done.
  void expectRefused(const Status &status, const std::string &text) const {
    EXPECT_EQ(status.code(), StatusCode::InvalidInput) << text;
    EXPECT_NE(status.message().find(text), std::string::npos)
        << "found:    " << status.message() << "\nexpected: " << text;
    EXPECT_EQ(device->log->count, 0);
    EXPECT_TRUE(device->work.empty());
  }

  std::shared_ptr<FakeDevice> device;
  std::unique_ptr<Program> program;
};

} // namespace test
} // namespace decant

#endif // DECANT_TEST_UNIT_RUNTIME_PROGRAMFIXTURE_H
