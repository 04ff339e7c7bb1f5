//===- TraceTensor.cpp - one tensor of a trace ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Core/Numeric.h"
#include "decant/Reference/Trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

using namespace decant;

namespace {

template <typename T> double loadAs(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<double>(value);
}

} // namespace

int decant::elementBytes(TraceType type) {
  switch (type) {
  case TraceType::F64:
  case TraceType::I64:
    return 8;
  case TraceType::F32:
  case TraceType::I32:
    return 4;
  case TraceType::F16:
  case TraceType::BF16:
  case TraceType::I16:
    return 2;
  case TraceType::I8:
  case TraceType::U8:
    return 1;
  }
  return 0;
}

const char *decant::toString(TraceType type) {
  switch (type) {
  case TraceType::F64:
    return "F64";
  case TraceType::F32:
    return "F32";
  case TraceType::F16:
    return "F16";
  case TraceType::BF16:
    return "BF16";
  case TraceType::I64:
    return "I64";
  case TraceType::I32:
    return "I32";
  case TraceType::I16:
    return "I16";
  case TraceType::I8:
    return "I8";
  case TraceType::U8:
    return "U8";
  }
  return "";
}

int64_t TraceTensor::elements() const {
  return static_cast<int64_t>(bytes.size()) / elementBytes(type);
}

double TraceTensor::element(int64_t index) const {
  const uint8_t *at = bytes.data() + index * elementBytes(type);
  switch (type) {
  case TraceType::F64:
    return loadAs<double>(at);
  case TraceType::F32:
    return loadAs<float>(at);
  case TraceType::F16:
    return loadElement(ElementType::F16, at);
  case TraceType::BF16:
    return loadElement(ElementType::BF16, at);
  case TraceType::I64:
    return loadAs<int64_t>(at);
  case TraceType::I32:
    return loadAs<int32_t>(at);
  case TraceType::I16:
    return loadAs<int16_t>(at);
  case TraceType::I8:
    return loadAs<int8_t>(at);
  case TraceType::U8:
    return loadAs<uint8_t>(at);
  }
  return 0;
}

std::string decant::shapeText(const std::vector<int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}
