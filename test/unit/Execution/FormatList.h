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
inline std::string block(const char *axis, const char *fit, const char *type,
                         int size) {
  return fmt::format(
      R"({{"axis": "{}", "fit": "{}", "type": "{}", "block": {}}})", axis, fit,
      type, size);
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

inline std::string rotated(const char *rotate, const char *codes,
                           const std::vector<std::string> &scales) {
  return fmt::format(R"({{"codes": "{}", "rotate": "{}", "scale": [{}]}})",
                     codes, rotate, fmt::join(scales, ", "));
}

/// Those of no tensor cores: scales of heads and groups, refits, rotations,
/// small floats and codebooks.
inline const std::vector<Format> &groupedFormats() {
  static const std::vector<Format> all = {
      {"int8_head", int8({scale("head", "absmax", "f32")})},
      {"int8_head_key_value", int8({scale("head", "absmax", "f16"),
                                    scale("key", "sqrt_mean_abs", "bf16"),
                                    scale("value", "absmax", "e8m0")})},
      {"int8_key_e4m3",
       int8({scale("value", "absmax", "f32"), scale("key", "absmax", "e4m3")})},
      {"int8_key_32", int8({block("key", "absmax", "f16", 32)})},
      {"int4_value_16",
       integers("int4", {scale("key", "sqrt_mean_abs", "f32"),
                         block("value", "absmax", "f16", 16)})},
      {"int8_minmax_value", int8({scale("value", "minmax", "f32")})},
      {"int4_minmax_key_32",
       integers("int4", {block("key", "minmax", "f16", 32)})},
      {"e4m3_head", integers("e4m3", {scale("head", "absmax", "f32")})},
      {"e5m2_key", integers("e5m2", {scale("key", "absmax", "bf16")})},
      {"mxfp8_key", integers("e4m3", {block("key", "absmax", "e8m0", 32)})},
      {"mxfp6_e3m2", integers("e3m2", {block("value", "absmax", "e8m0", 32)})},
      {"nvfp6", integers("e2m3", {scale("head", "absmax", "f32"),
                                  block("key", "absmax", "e4m3", 16)})},
      {"nvfp4", integers("e2m1", {scale("head", "absmax", "f32"),
                                  block("value", "absmax", "e4m3", 16)})},
      {"int6_refit_value",
       integers("int6", {scale("key", "sqrt_mean_abs", "f16"),
                         scale("value", "least_squares", "f16")})},
      {"e2m1_refit_key",
       integers("e2m1", {scale("head", "absmax", "f32"),
                         scale("value", "sqrt_mean_abs", "f32"),
                         scale("key", "least_squares", "f32")})},
      {"int4_rotated_value",
       rotated("value", "int4", {block("key", "absmax", "f16", 128)})},
      {"int8_rotated_key",
       rotated("key", "int8", {scale("value", "absmax", "f32")})},
      {"lloyd4_rotated",
       rotated("both", "lloyd4", {scale("key", "rms", "f16")})},
      {"lloyd3", integers("lloyd3", {scale("value", "rms", "f32")})},
      {"lloyd4_kept_norm",
       rotated("value", "lloyd4", {scale("key", "kept_norm", "f16")})},
      {"lloyd3_kept_norm_value",
       integers("lloyd3", {scale("key", "sqrt_mean_abs", "f32"),
                           scale("value", "kept_norm", "f32")})},
      {"int8_rotated_32",
       R"({"codes": "int8", "rotate": "value", "rotate_block": 32, "scale": [)" +
           block("key", "minmax", "f16", 32) + "]}"},
      {"int4_stochastic",
       R"({"codes": "int4", "round": "stochastic", "scale": [)" +
           scale("value", "absmax", "f32") + "]}"},
      {"e4m3_stochastic",
       R"({"codes": "e4m3", "round": "stochastic", "scale": [)" +
           scale("head", "absmax", "f32") + "]}"},
  };
  return all;
}

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_FORMATLIST_H
