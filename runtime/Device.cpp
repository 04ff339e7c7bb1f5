//===- Device.cpp - the parts every device shares -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Device.h"

#include <fmt/format.h>

using namespace decant;

LoadedImage::~LoadedImage() = default;
Device::~Device() = default;

Expected<KernelImage> Device::link(const KernelImage &image) const {
  return Status::invalid(fmt::format("device {} has no linker for image \"{}\"",
                                     info().name, image.specName));
}

Expected<bool> Device::isCapturing(StreamHandle) const { return false; }

int LoadedImage::entryIndex(const std::string &role) const {
  const std::vector<KernelEntry> &entries = image().entries;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].role == role)
      return int(i);
  return -1;
}

Status LoadedImage::launch(const std::string &role, int64_t blocks,
                           const std::vector<ArgValue> &args,
                           StreamHandle stream) const {
  int entry = entryIndex(role);
  if (entry < 0)
    return Status::invalid(fmt::format("image \"{}\" has no entry \"{}\"",
                                       image().specName, role));
  size_t wanted = image().entries[entry].args.size();
  if (args.size() != wanted)
    return Status::invalid(
        fmt::format("entry \"{}\" of image \"{}\" takes {} arguments, {} given",
                    role, image().specName, wanted, args.size()));
  return launch(entry, blocks, args.data(), stream);
}

Expected<DeviceBuffer> DeviceBuffer::create(std::shared_ptr<Device> device,
                                            int64_t bytes) {
  DECANT_ASSIGN(void *memory, device->allocate(bytes));
  DeviceBuffer buffer;
  buffer.device = std::move(device);
  buffer.memory = memory;
  buffer.size = bytes;
  return Expected<DeviceBuffer>(std::move(buffer));
}

DeviceBuffer::~DeviceBuffer() {
  // A destructor has nobody to report to; the driver keeps a sticky error.
  if (memory)
    (void)device->release(memory);
}
