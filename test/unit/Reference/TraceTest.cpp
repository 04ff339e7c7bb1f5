//===- TraceTest.cpp - reading and binding traces -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/TraceView.h"

#include "TestSpecs.h"
#include "decant/Core/Numeric.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace decant;
using namespace decant::test;

namespace {

std::string fileBytes(const std::string &header, const std::string &data,
                      int64_t saidLength = -1) {
  const uint64_t length = saidLength < 0 ? header.size() : saidLength;
  std::string bytes(sizeof(length), '\0');
  std::memcpy(&bytes[0], &length, sizeof(length));
  return bytes + header + data;
}

TEST(Trace, ReadsEveryType) {
  std::string data(8 + 4 + 2 + 2 + 8 + 4 + 2 + 1 + 1, '\0');
  const double f64 = 0.1;
  const float f32 = -2.5f;
  const uint16_t f16 = 0x3c01, bf16 = 0xc040;
  const int64_t i64 = -5000000000;
  const int32_t i32 = -7;
  const int16_t i16 = -300;
  std::memcpy(&data[0], &f64, 8);
  std::memcpy(&data[8], &f32, 4);
  std::memcpy(&data[12], &f16, 2);
  std::memcpy(&data[14], &bf16, 2);
  std::memcpy(&data[16], &i64, 8);
  std::memcpy(&data[24], &i32, 4);
  std::memcpy(&data[28], &i16, 2);
  data[30] = '\xff';
  data[31] = '\xff';
  const std::string header =
      R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},
          "b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},
          "c":{"dtype":"F16","shape":[1],"data_offsets":[12,14]},
          "d":{"dtype":"BF16","shape":[1],"data_offsets":[14,16]},
          "e":{"dtype":"I64","shape":[1],"data_offsets":[16,24]},
          "f":{"dtype":"I32","shape":[],"data_offsets":[24,28]},
          "g":{"dtype":"I16","shape":[1,1],"data_offsets":[28,30]},
          "h":{"dtype":"I8","shape":[1],"data_offsets":[30,31]},
          "i":{"dtype":"U8","shape":[1],"data_offsets":[31,32]},
          "z":{"dtype":"F32","shape":[0,5],"data_offsets":[32,32]},
          "__metadata__":{"format":"any"}}   )";
  Expected<Trace> trace = parseTrace(fileBytes(header, data), "t");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  ASSERT_EQ(trace->tensors.size(), 10u);
  const double expected[] = {
      0.1, -2.5, 1 + 1.0 / 1024, -3, -5000000000.0, -7, -300, -1, 255};
  const char *names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(trace->tensors.at(names[i]).element(0), expected[i]) << names[i];
  EXPECT_EQ(trace->tensors.at("z").elements(), 0);
  EXPECT_EQ(shapeText(trace->tensors.at("g").shape), "[1, 1]");
}

struct BadFile {
  const char *name;
  std::string bytes;
  std::vector<std::string> says; // parts of the message
};

std::string oneTensor(const std::string &fields, int dataBytes) {
  return fileBytes("{\"q\":{" + fields + "}}", std::string(dataBytes, 'x'));
}

std::vector<BadFile> badFiles() {
  const std::string a =
      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string b = R"("b":{"dtype":"F32","shape":[2],"data_offsets":)";
  return {
      {"empty", "", {"0 bytes", "at least 8"}},
      {"short", "abc", {"3 bytes"}},
      {"length beyond the file",
       fileBytes("{}", "", 1000),
       {"1000", "at most 2"}},
      {"length is a NaN's bits",
       fileBytes("{}", "", 0x7ff8000000000000),
       {"9221120237041090560"}},
      {"not JSON", fileBytes("{\"a\":", ""), {"not JSON"}},
      {"NaN in the header",
       oneTensor(R"("dtype":"F32","shape":[NaN],"data_offsets":[0,4])", 4),
       {"not JSON"}},
      {"bytes that are not text",
       fileBytes("\xff\xfe\x00\x01", ""),
       {"not JSON"}},
      {"header is a list", fileBytes("[1, 2]", ""), {"[1,2]", "object"}},
      {"tensor is a number",
       fileBytes("{\"q\": 3}", ""),
       {"tensor 'q'", "found 3"}},
      {"name twice",
       fileBytes("{" + a + "," + a + "}", "xxxxxxxx"),
       {"'a' twice"}},
      {"field twice",
       oneTensor(
           R"("dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4])", 4),
       {"'dtype' twice"}},
      {"no dtype",
       oneTensor(R"("shape":[1],"data_offsets":[0,4])", 4),
       {"tensor 'q'", "'dtype' is missing"}},
      {"unknown dtype",
       oneTensor(R"("dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1])", 1),
       {"tensor 'q'", "F8_E4M3", "BF16"}},
      {"dtype is a number",
       oneTensor(R"("dtype":32,"shape":[1],"data_offsets":[0,4])", 4),
       {"tensor 'q'", "dtype is 32"}},
      {"no shape",
       oneTensor(R"("dtype":"F32","data_offsets":[0,4])", 4),
       {"'shape' is missing"}},
      {"negative shape",
       oneTensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4),
       {"'shape' is [-1]", "0 up"}},
      {"fractional shape",
       oneTensor(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])", 4),
       {"'shape' is [1.5]"}},
      {"shape beyond 63 bits",
       oneTensor(
           R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])",
           4),
       {"'shape' is [18446744073709551615]"}},
      {"shape whose product overflows",
       oneTensor(
           R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0])",
           0),
       {"more than 2^64"}},
      {"shape is text",
       oneTensor(R"("dtype":"F32","shape":"4","data_offsets":[0,4])", 4),
       {"'shape' is \"4\""}},
      {"no offsets",
       oneTensor(R"("dtype":"F32","shape":[1])", 4),
       {"'data_offsets' is missing"}},
      {"one offset",
       oneTensor(R"("dtype":"F32","shape":[1],"data_offsets":[4])", 4),
       {"data_offsets are [4]"}},
      {"offsets backwards",
       oneTensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4),
       {"data_offsets are [4, 0]", "begin <= end"}},
      {"size differs from the shape",
       oneTensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])", 8),
       {"8 bytes", "[3]", "needs 12"}},
      {"truncated",
       fileBytes("{" + a + "," + b + "[8,16]}}", "0123456789ab"),
       {"tensor 'b'", "byte 16", "12 bytes", "truncated"}},
      {"overlap",
       fileBytes("{" + a + "," + b + "[4,12]}}", "0123456789ab"),
       {"tensor 'b'", "byte 4", "'a'", "overlap"}},
      {"gap",
       fileBytes("{" + a + "," + b + "[10,18]}}", std::string(18, 'x')),
       {"bytes 8 to 10", "tensor 'b'"}},
      {"bytes behind",
       fileBytes("{" + a + "}", std::string(9, 'x')),
       {"byte 8", "9 bytes"}},
  };
}

TEST(Trace, RefusesMalformedFiles) {
  for (const BadFile &bad : badFiles()) {
    Expected<Trace> trace = parseTrace(bad.bytes, "some.safetensors");
    ASSERT_FALSE(trace.ok()) << bad.name;
    EXPECT_EQ(trace.status().code(), StatusCode::InvalidInput);
    const std::string &message = trace.status().message();
    EXPECT_EQ(message.rfind("some.safetensors: ", 0), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string &part : bad.says)
      EXPECT_NE(message.find(part), std::string::npos)
          << bad.name << ": '" << part << "' is not in: " << message;
  }
}

TEST(Trace, RefusesEveryTruncation) {
  const std::string whole =
      oneTensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 8);
  ASSERT_TRUE(parseTrace(whole, "t").ok());
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parseTrace(whole.substr(0, length), "t").ok()) << length;
}

TEST(Trace, RefusesFilesThatCannotBeRead) {
  for (const std::string &path :
       {std::string("no/such.safetensors"), testing::TempDir()}) {
    Expected<Trace> trace = readTrace(path);
    ASSERT_FALSE(trace.ok());
    EXPECT_EQ(trace.status().message().rfind(path + ": ", 0), 0u)
        << trace.status().message();
  }
}

//===-- binding -----------------------------------------------------------===//

const std::vector<RuleInput> kGdn = {{"q", RuleInput::KeyVector},
                                     {"k", RuleInput::KeyVector},
                                     {"v", RuleInput::ValueVector},
                                     {"g", RuleInput::Scalar},
                                     {"beta", RuleInput::Scalar}};

std::vector<RuleInput> kdaInputs() {
  std::vector<RuleInput> inputs = kGdn;
  inputs[3].kind = RuleInput::KeyVector;
  return inputs;
}

DecodeSpec gdnSpec() {
  DecodeSpec spec = makeSpec(24, 16, ElementType::F32, {});
  spec.heads.key = 2;
  spec.heads.value = 6;
  return spec;
}

TraceTensor makeTensor(TraceType type, std::vector<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return {type, std::move(shape),
          std::vector<uint8_t>(elements * elementBytes(type))};
}

Trace gdnTrace() {
  Trace trace;
  trace.file = "some.safetensors";
  trace.tensors["q"] = makeTensor(TraceType::BF16, {5, 2, 24});
  trace.tensors["k"] = makeTensor(TraceType::BF16, {5, 2, 24});
  trace.tensors["v"] = makeTensor(TraceType::BF16, {5, 6, 16});
  trace.tensors["g"] = makeTensor(TraceType::F32, {5, 6});
  trace.tensors["beta"] = makeTensor(TraceType::F32, {5, 6});
  trace.tensors["unused"] = makeTensor(TraceType::I8, {3});
  return trace;
}

void expectRefused(const Trace &trace, const DecodeSpec &spec,
                   const std::vector<RuleInput> &inputs,
                   const std::string &message) {
  Expected<TraceView> view = bindTrace(trace, spec, inputs);
  ASSERT_FALSE(view.ok()) << message;
  EXPECT_EQ(view.status().code(), StatusCode::InvalidInput);
  EXPECT_EQ(view.status().message(), "some.safetensors: " + message);
}

TEST(TraceView, BindsInTheRulesOrder) {
  const Trace trace = gdnTrace();
  Expected<TraceView> view = bindTrace(trace, gdnSpec(), kGdn);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->tokens, 5);
  ASSERT_EQ(view->inputs.size(), 5u);
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(view->inputs[i].input, kGdn[i]);
  EXPECT_EQ(view->find("k")->heads, 2);
  EXPECT_EQ(view->find("k")->position(3, 1), (3 * 2 + 1) * 24);
  EXPECT_EQ(view->find("beta")->position(3, 4), 3 * 6 + 4);
  EXPECT_EQ(view->find("other"), nullptr);
  EXPECT_EQ(view->aLog, nullptr);
}

TEST(TraceView, BindsVectorsAndExtraArguments) {
  Trace trace = gdnTrace();
  trace.tensors["g"] = makeTensor(TraceType::F32, {5, 6, 24});
  trace.tensors["erase"] = makeTensor(TraceType::BF16, {5, 6, 24});
  trace.tensors["gate"] = makeTensor(TraceType::BF16, {5, 6, 16});
  trace.tensors["rate"] = makeTensor(TraceType::BF16, {5, 6});
  std::vector<RuleInput> inputs = kdaInputs();
  inputs.push_back({"erase", RuleInput::KeyVector});
  inputs.push_back({"gate", RuleInput::ValueVector});
  inputs.push_back({"rate", RuleInput::Scalar});
  Expected<TraceView> view = bindTrace(trace, gdnSpec(), inputs);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->find("g")->width, 24);
  EXPECT_EQ(view->find("erase")->heads, 6);
  EXPECT_EQ(view->find("gate")->width, 16);
  EXPECT_EQ(view->find("rate")->width, 1);
}

TEST(TraceView, BindsGateParameters) {
  Trace trace = gdnTrace();
  DecodeSpec spec = gdnSpec();
  spec.inputs.decay = DecayForm::Softplus;
  expectRefused(trace, spec, kGdn,
                "tensor 'A_log' (value heads) is missing; the file has beta, "
                "g, k, q, unused, v");
  trace.tensors["A_log"] = makeTensor(TraceType::F32, {6});
  trace.tensors["dt_bias"] = makeTensor(TraceType::F32, {6});
  Expected<TraceView> view = bindTrace(trace, spec, kGdn);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->aLog, &trace.tensors["A_log"]);
  EXPECT_EQ(view->dtBias, &trace.tensors["dt_bias"]);

  trace.tensors["g"] = makeTensor(TraceType::F32, {5, 6, 24});
  expectRefused(trace, spec, kdaInputs(),
                "tensor 'dt_bias' has shape [6]; the spec asks for [144] "
                "(value heads * elements of g)");
  trace.tensors["dt_bias"] = makeTensor(TraceType::F32, {144});
  EXPECT_TRUE(bindTrace(trace, spec, kdaInputs()).ok());
}

TEST(TraceView, RefusesWhatTheSpecDoesNotSay) {
  Trace missing = gdnTrace();
  missing.tensors.erase("v");
  expectRefused(missing, gdnSpec(), kGdn,
                "tensor 'v' (tokens, value heads, value dim) is missing; the "
                "file has beta, g, k, q, unused");
  expectRefused({"some.safetensors", {}}, gdnSpec(), kGdn,
                "tensor 'q' (tokens, key heads, key dim) is missing; the file "
                "has no tensors");

  Trace type = gdnTrace();
  type.tensors["k"] = makeTensor(TraceType::F16, {5, 2, 24});
  expectRefused(type, gdnSpec(), kGdn,
                "tensor 'k' is F16; inputs.type asks for BF16");
  Trace gate = gdnTrace();
  gate.tensors["g"] = makeTensor(TraceType::BF16, {5, 6});
  expectRefused(gate, gdnSpec(), kGdn,
                "tensor 'g' is BF16; inputs.gate_type asks for F32");

  Trace heads = gdnTrace();
  heads.tensors["q"] = makeTensor(TraceType::BF16, {5, 6, 24});
  expectRefused(heads, gdnSpec(), kGdn,
                "tensor 'q' has shape [5, 6, 24]; the spec asks for [1 or "
                "more, 2, 24] (tokens, key heads, key dim)");
  Trace rank = gdnTrace();
  rank.tensors["g"] = makeTensor(TraceType::F32, {5, 6, 24});
  expectRefused(rank, gdnSpec(), kGdn,
                "tensor 'g' has shape [5, 6, 24]; the spec asks for [5, 6] "
                "(tokens, value heads)");
  Trace tokens = gdnTrace();
  tokens.tensors["beta"] = makeTensor(TraceType::F32, {4, 6});
  expectRefused(tokens, gdnSpec(), kGdn,
                "tensor 'beta' has shape [4, 6]; the spec asks for [5, 6] "
                "(tokens, value heads)");
  Trace none = gdnTrace();
  none.tensors["q"] = makeTensor(TraceType::BF16, {0, 2, 24});
  expectRefused(none, gdnSpec(), kGdn,
                "tensor 'q' has shape [0, 2, 24]; the spec asks for [1 or "
                "more, 2, 24] (tokens, key heads, key dim)");
}

TEST(TraceView, ExcerptsBind) {
  DecodeSpec spec = leapQuantInt8(128, 128);
  spec.heads.key = 2;
  spec.heads.value = 4;
  Expected<Trace> gdn = readTrace(DECANT_TEST_DATA "/bytelm-gdn.safetensors");
  ASSERT_TRUE(gdn.ok()) << gdn.status().message();
  Expected<TraceView> view = bindTrace(*gdn, spec, kGdn);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->tokens, 256);

  spec.heads.key = 4;
  Expected<Trace> kda = readTrace(DECANT_TEST_DATA "/bytelm-kda.safetensors");
  ASSERT_TRUE(kda.ok()) << kda.status().message();
  view = bindTrace(*kda, spec, kdaInputs());
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(view->tokens, 128);
}

} // namespace
