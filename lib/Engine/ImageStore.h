//===- ImageStore.h - images, found or made -------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a spec and how to compile it. Out: the image, from the cache, or made and
// kept there, by one of all threads and processes that want it. For a GPU there
// are two steps, PTX by the compiler and machine code by the driver; each is an
// entry of its own, and a warm start reads the second alone.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_ENGINE_IMAGESTORE_H
#define DECANT_LIB_ENGINE_IMAGESTORE_H

#include "decant/Engine.h"

#include <atomic>

namespace decant {

class ImageStore {
public:
  ImageStore(const EngineOptions &options, ImageSource source);

  /// What the compiler makes.
  Expected<KernelImage> compiled(const DecodeSpec &spec,
                                 const CompileOptions &options,
                                 ImageReport &report);
  /// What `device` loads fastest.
  Expected<KernelImage> loadable(const DecodeSpec &spec,
                                 const CompileOptions &options,
                                 const Device &device, ImageReport &report);
  /// The same of an image that is there, from a pack.
  Expected<KernelImage> loadable(KernelImage image, const Device &device,
                                 ImageReport &report);

  std::vector<std::string> takeWarnings();
  /// All but loads.
  EngineCounters counters() const;

private:
  using Maker = std::function<Expected<KernelImage>()>;

  /// The image of `key`, or what `make` makes of it. Adds to `report`.
  Expected<KernelImage> findOrMake(const std::string &key,
                                   const std::string &specName,
                                   ImageReport &report, const Maker &make);
  /// Machine code of the PTX that `ptx` gives, and which `key` describes.
  Expected<KernelImage> machineCode(const std::string &key,
                                    const std::string &specName,
                                    const Device &device, ImageReport &report,
                                    const Maker &ptx);
  std::shared_ptr<std::mutex> lockOf(const std::string &key);

  const bool cached;
  ImageSource source;
  KernelCache cache;
  std::atomic<int64_t> compiles{0}, links{0};

  std::mutex mutex; // of everything below
  /// One per key, so that of several threads that want an image one makes it.
  std::unordered_map<std::string, std::weak_ptr<std::mutex>> locks;
  std::string linkWarning;
  bool saidLink = false;
};

} // namespace decant

#endif // DECANT_LIB_ENGINE_IMAGESTORE_H
