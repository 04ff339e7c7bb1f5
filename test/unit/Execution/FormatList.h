//===- FormatList.h - state formats that the tests go through ---*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_FORMATLIST_H
#define DECANT_TEST_UNIT_EXECUTION_FORMATLIST_H

#include <fmt/format.h>
#include <ostream>
#include <string>
#include <vector>

namespace decant::test {

inline std::string scale(const char *axis, const char *fit, const char *type) {
  return fmt::format(R"({{"axis": "{}", "fit": "{}", "type": "{}"}})", axis,
                     fit, type);
}
inline std::string integers(const char *codes,
                            const std::vector<std::string> &scales) {
  return fmt::format(R"({{"codes": "{}", "scale": [{}]}})", codes,
                     fmt::join(scales, ", "));
}
inline std::string int8(const std::vector<std::string> &scales) {
  return integers("int8", scales);
}
/// Key smoothing and an absmax scale per value channel.
inline std::string smooth(const char *codes) {
  return integers(codes, {scale("key", "sqrt_mean_abs", "f32"),
                          scale("value", "absmax", "f32")});
}

struct Format {
  const char *name;
  std::string state; // the spec's field
};
inline void PrintTo(const Format &format, std::ostream *out) {
  *out << format.name;
}

/// Every kind of codes, and of scales every axis, order, fit and type.
inline const std::vector<Format> &formats() {
  static const std::vector<Format> all = {
      {"f32", R"({"codes": "f32"})"},
      {"f16", R"({"codes": "f16"})"},
      {"bf16", R"({"codes": "bf16"})"},
      {"key_f32", int8({scale("key", "absmax", "f32")})},
      {"key_f16", int8({scale("key", "absmax", "f16")})},
      {"value_f32", int8({scale("value", "absmax", "f32")})},
      {"value_bf16", int8({scale("value", "absmax", "bf16")})},
      {"smooth_key_value", int8({scale("key", "sqrt_mean_abs", "f32"),
                                 scale("value", "absmax", "f32")})},
      {"smooth_value_key", int8({scale("value", "sqrt_mean_abs", "f32"),
                                 scale("key", "absmax", "f32")})},
      {"max_key_value",
       int8({scale("key", "absmax", "f32"), scale("value", "absmax", "f32")})},
      {"max_value_key",
       int8({scale("value", "absmax", "bf16"), scale("key", "absmax", "f16")})},
      {"smooth_key_bf16_value_f16", int8({scale("key", "sqrt_mean_abs", "bf16"),
                                          scale("value", "absmax", "f16")})},
      {"smooth_value_f16_key_bf16",
       int8({scale("value", "sqrt_mean_abs", "f16"),
             scale("key", "absmax", "bf16")})},
      {"int6", smooth("int6")},
      {"int4", smooth("int4")},
      {"int3", smooth("int3")},
      {"int2", smooth("int2")},
  };
  return all;
}

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_FORMATLIST_H
