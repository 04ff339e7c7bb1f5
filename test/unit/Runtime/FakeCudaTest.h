//===- FakeCudaTest.h - a fixture with a fresh fake driver ---- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_RUNTIME_FAKECUDATEST_H
#define DECANT_TEST_UNIT_RUNTIME_FAKECUDATEST_H

#include "FakeCuda.h"
#include "decant/Runtime/Cuda.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace decant {
namespace test {

/// `fake` is the state of the library that FAKE_CUDA_PATH names.
class FakeCudaTest : public ::testing::Test {
protected:
  void SetUp() override {
    library = dlopen(FAKE_CUDA_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    reset = reinterpret_cast<FakeCudaReset>(dlsym(library, "fakeCudaReset"));
    ASSERT_NE(reset, nullptr);
    fake = reset();
  }

  template <typename Call> Call symbol(const char *name) const {
    return reinterpret_cast<Call>(dlsym(library, name));
  }
  void *currentContext() const {
    void *context = nullptr;
    symbol<int (*)(void **)>("cuCtxGetCurrent")(&context);
    return context;
  }
  std::shared_ptr<const CudaDriver> loadDriver() const {
    return loadCudaDriver(FAKE_CUDA_PATH).take();
  }
  std::shared_ptr<Device> openDevice(int ordinal = 0) const {
    return openCudaDevice(loadDriver(), ordinal).take();
  }
  const FakeLaunch &launch(int number) const { return fake->launches[number]; }

  void *library = nullptr;
  FakeCudaReset reset = nullptr;
  FakeCuda *fake = nullptr;
};

} // namespace test
} // namespace decant

#endif // DECANT_TEST_UNIT_RUNTIME_FAKECUDATEST_H
