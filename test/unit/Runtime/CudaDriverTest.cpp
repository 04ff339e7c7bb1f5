//===- CudaDriverTest.cpp - opening the driver ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCudaTest.h"

using namespace decant;
using namespace decant::test;

namespace {

TEST(PtxIsa, FollowsTheReleaseTable) {
  // PTX ISA manual, release history: first release of each ISA version.
  EXPECT_TRUE(checkPtxIsa(80, 12000).ok());
  EXPECT_TRUE(checkPtxIsa(86, 12070).ok());
  EXPECT_FALSE(checkPtxIsa(86, 12060).ok());
  EXPECT_TRUE(checkPtxIsa(85, 12060).ok());
  EXPECT_FALSE(checkPtxIsa(88, 12080).ok());
  EXPECT_TRUE(checkPtxIsa(90, 13000).ok());
  // Newer than the table: the driver knows better.
  EXPECT_TRUE(checkPtxIsa(99, 12000).ok());
  // 7.9 does not exist; what covers it is 8.0.
  EXPECT_FALSE(checkPtxIsa(79, 11080).ok());
  EXPECT_EQ(checkPtxIsa(87, 12040).message(),
            "the image is PTX ISA 8.7, which needs the driver of CUDA 12.8 or "
            "newer; the installed driver supports CUDA 12.4");
}

TEST(CudaDriver, SaysThatThereIsNone) {
  auto driver = loadCudaDriver("no-such-folder/libcuda.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), StatusCode::Unavailable);
  const std::string &text = driver.status().message();
  EXPECT_EQ(text.find("no NVIDIA driver: no-such-folder/libcuda.so.1 cannot be "
                      "opened ("),
            0u)
      << text;
  EXPECT_NE(text.find("CUDA 12.0 or newer"), std::string::npos) << text;
}

TEST(CudaDriver, NamesAMissingFunction) {
  auto driver = loadCudaDriver(FAKE_CUDA_WITHOUT_LAUNCH_PATH);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), StatusCode::Unavailable);
  EXPECT_NE(driver.status().message().find("has no function cuLaunchKernel"),
            std::string::npos)
      << driver.status().message();
}

class FakeDriver : public FakeCudaTest {};

TEST_F(FakeDriver, IsLoaded) {
  EXPECT_EQ(cudaDriverVersion(*loadDriver()), 13000);
  EXPECT_EQ(*cudaDeviceCount(*loadDriver()), 1);
}

TEST_F(FakeDriver, TooOldNamesBothVersions) {
  fake->version = 11080;
  auto driver = loadCudaDriver(FAKE_CUDA_PATH);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), StatusCode::Unavailable);
  EXPECT_NE(driver.status().message().find(
                "supports CUDA up to 11.8; Decant needs the driver of CUDA "
                "12.0 or newer"),
            std::string::npos)
      << driver.status().message();
}

TEST_F(FakeDriver, WithoutADeviceIsUnavailable) {
  fake->initResult = 100;
  EXPECT_EQ(loadCudaDriver(FAKE_CUDA_PATH).status().message(),
            "cuInit failed: CUDA_ERROR_NO_DEVICE (100, some description)");
  EXPECT_EQ(loadCudaDriver(FAKE_CUDA_PATH).status().code(),
            StatusCode::Unavailable);
  fake->initResult = 34; // the toolkit's link stub
  EXPECT_EQ(loadCudaDriver(FAKE_CUDA_PATH).status().code(),
            StatusCode::Unavailable);
}

TEST_F(FakeDriver, AnErrorWithoutANameKeepsItsNumber) {
  fake->initResult = 4242;
  auto status = loadCudaDriver(FAKE_CUDA_PATH).status();
  EXPECT_EQ(status.code(), StatusCode::JobFailed);
  EXPECT_NE(status.message().find("4242"), std::string::npos)
      << status.message();
}

TEST_F(FakeDriver, RefusesDevicesThatAreNotThere) {
  auto driver = loadDriver();
  EXPECT_EQ(openCudaDevice(driver, 1).status().message(),
            "no CUDA device 1; the driver sees 1, numbered from 0");
  EXPECT_EQ(openCudaDevice(driver, -1).status().code(),
            StatusCode::InvalidInput);
  fake->deviceCount = 0;
  EXPECT_EQ(openCudaDevice(driver, 0).status().code(), StatusCode::Unavailable);
}

} // namespace
