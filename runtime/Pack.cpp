//===- Pack.cpp - an open pack --------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Pack.h"

#include "PackFormat.h"
#include "decant/Core/ImageHeader.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace decant;

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

Status failure(const char *action, int error) {
  return Status::invalid(fmt::format("cannot {}: {}", action,
                                     std::generic_category().message(error)));
}

/// `bytes` bytes from `offset` on.
Expected<std::string> readAt(int file, int64_t offset, int64_t bytes) {
  std::string result(size_t(bytes), '\0');
  size_t filled = 0;
  while (filled < result.size()) {
    const ssize_t got = pread(file, &result[filled], result.size() - filled,
                              offset + int64_t(filled));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failure("read", errno);
    if (got == 0)
      return Status::invalid(fmt::format(
          "truncated since it was opened: nothing at byte {}, and {} more are "
          "expected there",
          offset + int64_t(filled), result.size() - filled));
    filled += size_t(got);
  }
  return result;
}

Expected<PackIndex> readIndexOf(int file) {
  struct stat facts = {};
  if (fstat(file, &facts) != 0)
    return failure("read", errno);
  if (!S_ISREG(facts.st_mode))
    return Status::invalid("is not a file; a pack is expected");
  const int64_t present = facts.st_size;
  DECANT_ASSIGN(const std::string fixed,
                readAt(file, 0, std::min(present, pack::kFixedBytes)));
  DECANT_ASSIGN(const pack::FixedPart part,
                pack::readFixedPart(fixed, present));
  DECANT_ASSIGN(const std::string text,
                readAt(file, pack::kFixedBytes, part.indexBytes));
  return pack::readIndex(fixed, text);
}

} // namespace

Pack::Pack(std::string path, int file, PackIndex index)
    : name(std::move(path)), file(file), held(std::move(index)) {}
Pack::~Pack() { close(file); }

Expected<std::unique_ptr<Pack>> Pack::open(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return failure("open", errno).within(path);
  Expected<PackIndex> index = readIndexOf(file);
  if (!index) {
    close(file);
    return index.status().within(path);
  }
  return std::unique_ptr<Pack>(new Pack(path, file, index.take()));
}

Expected<std::string> Pack::blob(int number) const {
  const PackBlob &blob = held.blobs[size_t(number)];
  DECANT_ASSIGN(std::string bytes, readAt(file, blob.offset, blob.bytes));
  bytesRead += blob.bytes;
  if (const uint64_t found = pack::hashOf(bytes); found != blob.hash)
    return Status::invalid(fmt::format(
        "hash mismatch: bytes {} to {} of the file hash to {:016x}, its index "
        "states {:016x}; it was damaged",
        blob.offset, blob.offset + blob.bytes - 1, found, blob.hash));
  return bytes;
}

Expected<KernelImage> Pack::image(int number) const {
  if (number < 0 || size_t(number) >= held.variants.size())
    return Status::invalid(
        fmt::format("{}: found variant {}; allowed are 0 to {}", name, number,
                    held.variants.size() - 1));
  const PackVariant &variant = held.variants[size_t(number)];
  auto where = [&](const char *part) {
    return fmt::format("{}: {}: {}", name, held.describe(number), part);
  };
  const Expected<std::string> header = blob(variant.header);
  if (!header)
    return header.status().within(where("header"));
  Expected<std::string> code = blob(variant.code);
  if (!code)
    return code.status().within(where("code"));
  Expected<KernelImage> image = imageFromHeader(*header, code.take());
  if (!image)
    return image.status().within(where("header"));
  // Both hashes are right, so this file was written wrong.
  if (image->target != variant.target || image->kind != variant.kind ||
      image->layout.codeOrder != variant.order)
    return Status::invalid(
        fmt::format("{}: it is {} for {} with codes in the order {}",
                    where("header"), toString(image->kind), image->target,
                    toString(image->layout.codeOrder)));
  ++imagesRead;
  return image;
}

Expected<ProgramImages> Pack::images(const PackChoice &choice) const {
  ProgramImages images;
  for (int variant : choice.decode) {
    DECANT_ASSIGN(KernelImage decode, image(variant));
    images.decode.push_back(std::move(decode));
  }
  images.rules = choice.rules;
  if (choice.transfer >= 0) {
    DECANT_ASSIGN(images.transfer, image(choice.transfer));
  }
  return images;
}

Status Pack::verify() const {
  for (size_t i = 0; i < held.variants.size(); ++i)
    DECANT_TRY(image(int(i)).status());
  return {};
}

Expected<std::unique_ptr<Program>>
decant::programFromPack(const Pack &pack, std::shared_ptr<Device> device,
                        const PackQuery &query, const LoadOptions &options,
                        PackReport *report) {
  PackReport local;
  PackReport &facts = report ? *report : local;
  facts = PackReport();
  if (!device)
    return Status::invalid("argument \"device\" is null");
  Expected<PackChoice> choice =
      chooseFromPack(pack.index(), query, device->info());
  if (!choice)
    return choice.status().within(pack.path());
  facts.choice = choice.take();
  const Clock::time_point reading = Clock::now();
  DECANT_ASSIGN(ProgramImages images, pack.images(facts.choice));
  facts.readMs = millisecondsSince(reading);
  for (int variant : facts.choice.decode)
    facts.bytes += pack.index().bytesOf(variant);
  if (facts.choice.transfer >= 0)
    facts.bytes += pack.index().bytesOf(facts.choice.transfer);

  pack.loads += int64_t(images.decode.size()) + images.transfer.has_value();
  const Clock::time_point loading = Clock::now();
  auto program = Program::create(std::move(device), std::move(images), options);
  facts.loadMs = millisecondsSince(loading);
  if (!program)
    return program.status().within(pack.path());
  return program;
}
