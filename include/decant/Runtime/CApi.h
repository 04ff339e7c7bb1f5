//===- CApi.h - what lies behind the C handles ---------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For libraries that add functions to the C API: the handles' contents, and the
// way from a Status, or an exception, to a status code with its text.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CAPI_H
#define DECANT_RUNTIME_CAPI_H

#include "decant-c/decant_runtime.h"
#include "decant/Runtime/Program.h"

#include <cstddef>
#include <cstring>
#include <exception>

struct DecantDevice {
  std::shared_ptr<decant::Device> device;
};
struct DecantImage {
  std::shared_ptr<const decant::KernelImage> image;
};
struct DecantProgram {
  std::unique_ptr<decant::Program> program;
};

namespace decant {
namespace capi {

/// Keeps the text for decantLastError() and returns the code.
DecantStatus report(const Status &status) noexcept;
DecantStatus reportException(const char *what) noexcept;
Status nullArgument(const char *name);
Status wrongSize(const char *name, size_t found, size_t known);

/// Runs `work`, which returns a Status; nothing leaves it but a status code.
template <typename Work> DecantStatus guarded(Work work) noexcept {
  try {
    Status status = work();
    return status.ok() ? DECANT_OK : report(status);
  } catch (const std::exception &error) {
    return reportException(error.what());
  } catch (...) {
    return reportException("unknown");
  }
}

/// The size of a struct in the first header that has it. Fields are added at
/// the end; what an older header lacks is 0, or is not written.
template <typename Sized> constexpr size_t firstSize() { return sizeof(Sized); }
template <> constexpr size_t firstSize<DecantStepCall>() {
  return offsetof(DecantStepCall, cu_seqlens);
}
template <> constexpr size_t firstSize<DecantProgramInfo>() {
  return offsetof(DecantProgramInfo, tokens_per_step);
}
template <> constexpr size_t firstSize<DecantZeroCall>() {
  return offsetof(DecantZeroCall, seeds);
}
template <typename Sized> bool knowsSize(size_t size) {
  return size == sizeof(Sized) || size == firstSize<Sized>();
}

/// Reads a struct that begins with its size.
template <typename Sized>
Status readSized(const char *name, const Sized *given, Sized &result) {
  if (!given)
    return nullArgument(name);
  if (!knowsSize<Sized>(given->struct_size))
    return wrongSize(name, given->struct_size, sizeof(Sized));
  result = {};
  std::memcpy(&result, given, given->struct_size);
  return {};
}

/// Writes `values` to a struct that begins with its size.
template <typename Sized>
Status writeSized(const char *name, Sized values, Sized *result) {
  if (!result)
    return nullArgument(name);
  if (!knowsSize<Sized>(result->struct_size))
    return wrongSize(name, result->struct_size, sizeof(Sized));
  values.struct_size = result->struct_size;
  std::memcpy(result, &values, values.struct_size);
  return {};
}

} // namespace capi
} // namespace decant

#endif // DECANT_RUNTIME_CAPI_H
