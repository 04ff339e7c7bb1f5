//===- ArgTable.cpp - from fields to kernel arguments ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgTable.h"

#include <cstring>
#include <fmt/format.h>

using namespace decant;

namespace {

struct KnownName {
  const char *name;
  Known known;
  ArgKind kind;
};
constexpr KnownName kKnownNames[] = {
    {"state", Known::State, ArgKind::Pointer},
    {"slots", Known::Slots, ArgKind::Pointer},
    {"cu_seqlens", Known::CuSeqlens, ArgKind::Pointer},
    {"accepted", Known::Accepted, ArgKind::Pointer},
    {"qkv", Known::Qkv, ArgKind::Pointer},
    {"q", Known::Q, ArgKind::Pointer},
    {"k", Known::K, ArgKind::Pointer},
    {"v", Known::V, ArgKind::Pointer},
    {"decay", Known::Decay, ArgKind::Pointer},
    {"beta", Known::Beta, ArgKind::Pointer},
    {"out", Known::Out, ArgKind::Pointer},
    {"A_log", Known::ALog, ArgKind::Pointer},
    {"dt_bias", Known::DtBias, ArgKind::Pointer},
    {"dense", Known::Dense, ArgKind::Pointer},
    {"state_stride", Known::StateStride, ArgKind::Int64},
    {"slots_stride", Known::SlotsStride, ArgKind::Int64},
    {"rows", Known::Rows, ArgKind::Int64},
    {"min_fill", Known::MinFill, ArgKind::Int64},
    {"dense_row", Known::DenseRow, ArgKind::Int64},
    {"dense_head", Known::DenseHead, ArgKind::Int64},
    {"dense_key", Known::DenseKey, ArgKind::Int64},
    {"dense_value", Known::DenseValue, ArgKind::Int64},
};
static_assert(sizeof(kKnownNames) / sizeof(*kKnownNames) == kKnownCount,
              "one name for each");

const KnownName *findKnown(const std::string &name) {
  for (const KnownName &known : kKnownNames)
    if (name == known.name)
      return &known;
  return nullptr;
}

constexpr const char *kStrideSuffix = "_stride";

/// "q" for "q_stride", empty for a name that is no stride.
std::string tensorOfStride(const std::string &name) {
  size_t suffix = std::strlen(kStrideSuffix);
  if (name.size() <= suffix ||
      name.compare(name.size() - suffix, suffix, kStrideSuffix) != 0)
    return {};
  return name.substr(0, name.size() - suffix);
}

} // namespace

Status decant::checkAligned(const char *name, const void *pointer,
                            int64_t align) {
  auto remainder = int64_t(reinterpret_cast<uintptr_t>(pointer) % align);
  if (remainder == 0)
    return {};
  return Status::invalid(fmt::format(
      "argument \"{}\": address {} is {} mod {}; it must be a multiple of {} "
      "bytes",
      name, pointer, remainder, align, align));
}

Status decant::checkStrideAligned(const char *name, int64_t count,
                                  int64_t elementBytes, int64_t align) {
  // In this order nothing overflows: the remainder of a product.
  int64_t remainder = count % align * elementBytes % align;
  if (remainder == 0)
    return {};
  return Status::invalid(fmt::format(
      "argument \"{}\": {} elements of {} bytes are {} mod {}; rows must be a "
      "multiple of {} bytes apart",
      name, count, elementBytes, remainder, align, align));
}

Expected<std::unique_ptr<ArgTable>> ArgTable::create(const LoadedImage &image,
                                                     const std::string &role) {
  auto table = std::make_unique<ArgTable>();
  std::string where =
      fmt::format("image \"{}\", entry \"{}\"", image.image().specName, role);
  table->image = &image;
  table->entryNumber = image.entryIndex(role);
  if (table->entryNumber < 0)
    return Status::invalid(where + ": the image has no such entry");
  table->kernel = &image.image().entries[table->entryNumber];
  if (table->kernel->args.size() > size_t(kMaxKernelArgs))
    return Status::invalid(fmt::format("{}: {} arguments, {} are allowed",
                                       where, table->kernel->args.size(),
                                       kMaxKernelArgs));
  for (const KernelArg &arg : table->kernel->args) {
    Expected<Binding> binding = table->bind(arg);
    if (!binding)
      return binding.status().within(where);
    if (binding->source == Source::Value) {
      table->taken |= uint32_t(1) << int(binding->name);
      if (binding->name == Known::State)
        table->alignOfState = arg.align;
    }
    table->extraCount += binding->source == Source::ExtraData;
    table->bindings.push_back(*binding);
  }
  return Expected<std::unique_ptr<ArgTable>>(std::move(table));
}

const KernelArg *ArgTable::findPointer(const std::string &name) const {
  for (const KernelArg &arg : kernel->args)
    if (arg.name == name && arg.kind == ArgKind::Pointer)
      return &arg;
  return nullptr;
}

Expected<ArgTable::Binding> ArgTable::bind(const KernelArg &arg) const {
  Binding binding;
  binding.arg = &arg;
  if (const KnownName *known = findKnown(arg.name)) {
    if (known->kind != arg.kind)
      return Status::invalid(fmt::format(
          "argument \"{}\" is {}, and this runtime supplies {}", arg.name,
          arg.kind == ArgKind::Pointer ? "a pointer" : "an int64",
          known->kind == ArgKind::Pointer ? "a pointer" : "an int64"));
    binding.name = known->known;
    return binding;
  }
  if (arg.kind == ArgKind::Pointer) {
    binding.source = Source::ExtraData;
    return binding;
  }
  binding.tensor = findPointer(tensorOfStride(arg.name));
  if (!binding.tensor)
    return Status::invalid(
        fmt::format("argument \"{}\" (int64) is neither one that this runtime "
                    "knows nor the stride of another argument",
                    arg.name));
  if (const KnownName *known = findKnown(binding.tensor->name)) {
    binding.source = Source::RowStride;
    binding.name = known->known;
  } else {
    binding.source = Source::ExtraStride;
  }
  return binding;
}

Status ArgTable::gather(const CallValues &values, ArgValue *args) const {
  int64_t rows = values.rows();
  if (rows < 0 || rows > maxRows())
    return Status::invalid(fmt::format(
        "argument \"rows\" is {}; 0 to {} are allowed, since the grid has {} "
        "blocks per row and at most {}",
        rows, maxRows(), kernel->blocksPerRow, kMaxGridBlocks));
  // Beyond the counts, which only the device knows, no row is read.
  const int64_t inputRows = rows * values.tokensPerStep;
  auto findExtra = [&](const KernelArg &tensor) -> RowTensor {
    for (int i = 0; i < values.extraCount; ++i)
      if (values.extra[i].name && tensor.name == values.extra[i].name)
        return values.extra[i].tensor;
    return {};
  };
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Binding &binding = bindings[i];
    const KernelArg &arg = *binding.arg;
    switch (binding.source) {
    case Source::Value:
      if (arg.kind == ArgKind::Int64)
        args[i] = values[binding.name];
      else
        DECANT_TRY(gatherTensor(arg, values[binding.name].pointer, args[i]));
      break;
    case Source::RowStride:
      DECANT_TRY(gatherStride(binding, values.stride[int(binding.name)],
                              inputRows, args[i]));
      break;
    case Source::ExtraData:
      DECANT_TRY(gatherTensor(arg, findExtra(arg).data, args[i]));
      break;
    case Source::ExtraStride:
      DECANT_TRY(gatherStride(binding, findExtra(*binding.tensor).stride,
                              inputRows, args[i]));
      break;
    }
  }
  return {};
}

Status ArgTable::gatherTensor(const KernelArg &arg, const void *data,
                              ArgValue &result) const {
  if (!data)
    return refuseNull(arg);
  result.pointer = data;
  return checkAligned(arg.name.c_str(), data, arg.align);
}

Status ArgTable::gatherStride(const Binding &binding, int64_t stride,
                              int64_t rows, ArgValue &result) const {
  const KernelArg &tensor = *binding.tensor;
  const char *name = binding.arg->name.c_str();
  if (stride == 0)
    stride = tensor.rowWidth;
  result.integer = stride;
  // With one row nothing steps, and frameworks leave any number there.
  if (rows <= 1)
    return {};
  if (stride < tensor.rowWidth || stride <= 0)
    return Status::invalid(fmt::format(
        "argument \"{}\" is {} elements; a row of \"{}\" has {}, and rows may "
        "not overlap",
        name, stride, tensor.name, tensor.rowWidth));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(stride, rows * elementBytes(tensor.type), &bytes))
    return Status::invalid(fmt::format(
        "argument \"{}\" is {} elements, which for {} rows is beyond 2^63 "
        "bytes",
        name, stride, rows));
  return checkStrideAligned(name, stride, elementBytes(tensor.type),
                            tensor.align);
}

Status ArgTable::refuseNull(const KernelArg &arg) const {
  std::string wanted;
  for (const KernelArg &other : kernel->args)
    if (other.kind == ArgKind::Pointer)
      wanted += (wanted.empty() ? "" : ", ") + other.name;
  return Status::invalid(fmt::format(
      "argument \"{}\" is null; the kernel reads or writes all of: {}",
      arg.name, wanted));
}

Status ArgTable::checkAllTaken(const CallValues &values) const {
  // Ignoring one would hide a wrong idea of what the kernel computes: A_log
  // beside a gate that is already a logarithm, say.
  for (const KnownName &known : kKnownNames)
    if (known.kind == ArgKind::Pointer && values[known.known].pointer &&
        !(taken >> int(known.known) & 1))
      return Status::invalid(fmt::format(
          "argument \"{}\" is given, and the kernel does not take it",
          known.name));
  for (int i = 0; i < values.extraCount; ++i) {
    const char *name = values.extra[i].name;
    const KernelArg *arg = name ? findPointer(name) : nullptr;
    if (!arg || findKnown(arg->name))
      return Status::invalid(fmt::format(
          "extra input {} is named \"{}\", which is no input of the rule's own",
          i, name ? name : "(null)"));
    for (int j = 0; j < i; ++j)
      if (std::strcmp(values.extra[j].name, name) == 0)
        return Status::invalid(
            fmt::format("extra input \"{}\" is given twice", name));
  }
  return {};
}
