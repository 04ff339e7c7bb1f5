//===- CudaLink.cpp - PTX to machine code, by the driver ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading PTX compiles it, every time and in every process. The linker that
// every driver has gives the result away, so that it is done once.
//
//===----------------------------------------------------------------------===//

#include "CudaLink.h"

#include "CudaImage.h"
#include "decant/Runtime/DeviceTarget.h"

#include <fmt/format.h>

using namespace decant;

namespace {

/// The JIT's messages are cut beyond this; the first ones matter.
constexpr size_t kJitLogBytes = 16 * 1024;

/// A linker's state, which owns the cubin.
class Linker {
public:
  explicit Linker(const CudaDriver &driver) : driver(driver) {}
  Linker(const Linker &) = delete;
  Linker &operator=(const Linker &) = delete;
  ~Linker() {
    if (state)
      driver.linkDestroy(state);
  }

  Expected<std::string> link(const KernelImage &image, JitLog &log) {
    DECANT_TRY(driver.check(
        driver.linkCreate(log.count(), log.options(), log.values(), &state),
        "cuLinkCreate"));
    // The driver takes the terminating zero too, and changes nothing.
    DECANT_TRY(driver.check(
        driver.linkAddData(
            state, cuda::kJitInputPtx, const_cast<char *>(image.code.c_str()),
            image.code.size() + 1, image.specName.c_str(), 0, nullptr, nullptr),
        "cuLinkAddData"));
    void *cubin = nullptr;
    size_t bytes = 0;
    DECANT_TRY(driver.check(driver.linkComplete(state, &cubin, &bytes),
                            "cuLinkComplete"));
    return std::string(static_cast<char *>(cubin), bytes);
  }

private:
  const CudaDriver &driver;
  cuda::LinkState state = nullptr;
};

} // namespace

JitLog::JitLog() : text(kJitLogBytes, '\0') {
  // Sizes travel by value in pointers: this is how the driver takes them.
  names = {cuda::kJitErrorLog, cuda::kJitErrorLogBytes};
  pointers = {text.data(), reinterpret_cast<void *>(text.size())};
}

Status JitLog::explain(const Status &status) {
  if (status.ok())
    return status;
  text.back() = '\0'; // a full buffer need not be terminated
  std::string log(text.c_str());
  while (!log.empty() && (log.back() == '\n' || log.back() == ' '))
    log.pop_back();
  return {status.code(),
          status.message() +
              (log.empty() ? "" : fmt::format("; the JIT says: {}", log))};
}

Expected<KernelImage> decant::linkPtx(const CudaContext &context,
                                      const DeviceInfo &device,
                                      const KernelImage &image) {
  if (image.kind != CodeKind::Ptx)
    return Status::invalid(fmt::format("image \"{}\" holds {}; ptx is linked",
                                       image.specName, toString(image.kind)));
  DECANT_TRY(checkRunsOn(image, device));
  ContextScope scope(context);
  DECANT_TRY(scope.status());
  JitLog log; // outlives the linker, which writes to it
  Linker linker(context.driver());
  Expected<std::string> cubin = linker.link(image, log);
  DECANT_TRY(
      log.explain(cubin.status())
          .within(fmt::format("image \"{}\" ({}) on CUDA device {}",
                              image.specName, image.target, device.ordinal)));
  KernelImage result = image;
  result.kind = CodeKind::Cubin;
  result.target = linkedTarget(image.target, device);
  result.code = cubin.take();
  return result;
}
