//===- HostImage.cpp - a host object, loaded ------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostImage.h"

#include "Target/EmitObject.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cfenv>
#include <fmt/format.h>

using namespace decant;

namespace {

Status toStatus(llvm::Error error, const std::string &what) {
  return Status::failed(what + ": " + llvm::toString(std::move(error)));
}

/// Kernels round to nearest and keep small numbers, whatever the calling thread
/// has set (a host engine may flush them to zero).
class DefaultFloats {
public:
  DefaultFloats() {
    std::fegetenv(&before);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&before); }
  DefaultFloats(const DefaultFloats &) = delete;
  DefaultFloats &operator=(const DefaultFloats &) = delete;

private:
  std::fenv_t before;
};

} // namespace

HostImage::HostImage(KernelImage image, std::shared_ptr<BlockPool> pool)
    : loaded(std::move(image)), pool(std::move(pool)) {}
HostImage::~HostImage() = default;

Expected<std::unique_ptr<LoadedImage>>
HostImage::load(KernelImage image, std::shared_ptr<BlockPool> pool) {
  const std::string where = fmt::format("image \"{}\"", image.specName);
  if (image.kind != CodeKind::HostObject)
    return Status::invalid(fmt::format(
        "{} holds {} for {}; the CPU device takes {}", where,
        toString(image.kind), image.target, toString(CodeKind::HostObject)));
  std::unique_ptr<HostImage> result(
      new HostImage(std::move(image), std::move(pool)));
  DECANT_TRY(result->link().within(where));
  result->loaded.code = std::string();
  return std::unique_ptr<LoadedImage>(std::move(result));
}

/// An object that uses an instruction this processor lacks would end the
/// process at its first launch.
Status HostImage::checkProcessor() {
  auto address = jit->lookup(kHostCpuSymbol);
  if (!address)
    return toStatus(address.takeError(), "the object is not one of Decant's");
  const std::string wanted = address->toPtr<const char *>();
  const std::string present = hostCpuName();
  if (wanted.empty() || wanted == present)
    return {};
  return Status::invalid(fmt::format(
      "the code is for processor {}, and this one is {}; compile it here",
      wanted, present));
}

Status HostImage::link() {
  initializeHost(); // a cached object did not come through the compiler
  auto created = llvm::orc::LLJITBuilder()
                     .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                     .create();
  if (!created)
    return toStatus(created.takeError(), "cannot start the linker");
  jit = std::move(*created);
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return toStatus(process.takeError(), "cannot read the process's symbols");
  jit->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error =
          jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
              loaded.code, loaded.specName + ".o")))
    return toStatus(std::move(error), "the object is damaged");
  DECANT_TRY(checkProcessor());
  for (const KernelEntry &entry : loaded.entries) {
    const std::string where =
        fmt::format("entry \"{}\" ({})", entry.role, entry.symbol);
    if (entry.args.size() > size_t(kMaxKernelArgs))
      return Status::invalid(fmt::format("{} has {} arguments, {} are allowed",
                                         where, entry.args.size(),
                                         kMaxKernelArgs));
    auto address = jit->lookup(entry.symbol + kPackedSuffix);
    if (!address)
      return toStatus(address.takeError(), where);
    functions.push_back(address->toPtr<Function>());
    KernelResources resources;
    resources.role = entry.role;
    resources.symbol = entry.symbol;
    resources.sharedBytes = entry.sharedBytes;
    resources.maxThreads = 1;
    used.push_back(std::move(resources));
  }
  return {};
}

Status HostImage::launch(int entry, int64_t blocks, const ArgValue *args,
                         StreamHandle) const {
  if (entry < 0 || size_t(entry) >= functions.size())
    return Status::internal(
        fmt::format("launch of entry {} of {}", entry, functions.size()));
  if (blocks < 0)
    return Status::invalid(
        fmt::format("a grid of {} blocks; 0 or more are allowed", blocks));
  void *places[kMaxKernelArgs];
  const size_t count = loaded.entries[entry].args.size();
  for (size_t i = 0; i < count; ++i)
    places[i] = const_cast<ArgValue *>(&args[i]);
  const Function function = functions[entry];
  pool->run(blocks, [&](int64_t first, int64_t last) {
    DefaultFloats floats;
    function(places, first, last);
  });
  return {};
}
