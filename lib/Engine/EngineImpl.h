//===- EngineImpl.h - what an engine is made of -----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_ENGINE_ENGINEIMPL_H
#define DECANT_LIB_ENGINE_ENGINEIMPL_H

#include "CpuDevice.h"
#include "ImageStore.h"
#include "PackShelf.h"
#include "RecordTuner.h"
#include "TunedSchedules.h"
#include "decant/Runtime/Cuda.h"

namespace decant {

struct Engine::Impl {
  Impl(EngineOptions given, ImageSource source, PackShelf shelf)
      : options(std::move(given)), packs(std::move(shelf)),
        images(options, std::move(source)) {}

  EngineOptions options;
  PackShelf packs;
  ImageStore images;
  std::atomic<int64_t> loads{0};

  std::mutex mutex; // of the two below
  std::shared_ptr<CpuDevice> cpu;
  std::shared_ptr<const CudaDriver> driver;

  TunedSchedules tuned{options.records};
  RecordTuner tuner{options.records.user};
};

} // namespace decant

#endif // DECANT_LIB_ENGINE_ENGINEIMPL_H
