//===- InterpreterTest.cpp - from a rule's IR to float64 ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Interpreter.h"

#include "Decant/Decant.h"
#include "PlainLoop.h"
#include "TestSpecs.h"
#include "decant/Reference/ReferenceRun.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

/// The program of `decant.decode @test(ARGUMENTS) { BODY }` for a state of
/// dim x dim.
Expected<RuleProgram> program(int dim, const std::string &arguments,
                              const std::string &body) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<DecantDialect, mlir::arith::ArithDialect,
                      mlir::math::MathDialect>();
  const std::string text = fmt::format(
      R"(!key = tensor<{0}xf32, #decant.axis<key>>
!value = tensor<{0}xf32, #decant.axis<value>>
!state = !decant.state<{0}x{0}>
decant.decode @test heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32>
    target <"x86-64"> ({1}) {{ {2} }})",
      dim, arguments, body);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return Status::internal("the test's IR does not parse");
  return buildRuleProgram(*module->getOps<DecodeOp>().begin());
}

using Inputs = std::vector<std::vector<double>>;

std::vector<double> randomVector(int length, std::mt19937 &random) {
  std::normal_distribution<double> normal;
  std::vector<double> result(length);
  for (double &element : result)
    element = normal(random);
  return result;
}

/// The rule of GDN or KDA behind the conventions of the two traces.
std::string gatedDelta(const std::string &decayType) {
  return fmt::format(R"(
    %eps = arith.constant 1.0e-6 : f32
    %scale = arith.constant 0.0883883461 : f32
    %qq = decant.dot %q, %q : !key
    %qe = arith.addf %qq, %eps : f32
    %qr = math.rsqrt %qe : f32
    %qs = arith.mulf %qr, %scale : f32
    %qn = decant.scale %q, %qs : !key
    %kk = decant.dot %k, %k : !key
    %ke = arith.addf %kk, %eps : f32
    %kr = math.rsqrt %ke : f32
    %kn = decant.scale %k, %kr : !key
    %a = math.exp %decay : {0}
    %S1 = decant.decay %S, %a : !state, {0}
    %p = decant.read %S1, %kn : !state
    %r = arith.subf %v, %p : !value
    %u = decant.scale %r, %beta : !value
    %S2 = decant.write %S1, %kn, %u : !state
    %o = decant.read %S2, %qn : !state
    decant.yield %S2, %o : !state)",
                     decayType);
}

void compareWithPlainLoop(const char *file, RuleInput::Kind decay,
                          int keyHeads) {
  Expected<Trace> trace = readTrace(std::string(DECANT_TEST_DATA "/") + file);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  DecodeSpec spec = leapQuantInt8(128, 128);
  spec.heads.key = keyHeads;
  spec.heads.value = 4;
  Expected<TraceView> view = bindTrace(*trace, spec,
                                       {{"q", RuleInput::KeyVector},
                                        {"k", RuleInput::KeyVector},
                                        {"v", RuleInput::ValueVector},
                                        {"g", decay},
                                        {"beta", RuleInput::Scalar}});
  ASSERT_TRUE(view.ok()) << view.status().message();
  const std::string type = decay == RuleInput::Scalar ? "f32" : "!key";
  Expected<RuleProgram> rule =
      program(128,
              "%S: !state, %q: !key, %k: !key, %v: !value, %decay: " + type +
                  ", %beta: f32",
              gatedDelta(type));
  ASSERT_TRUE(rule.ok()) << rule.status().message();

  const SlotLayout layout = makeSlotLayout(
      spec,
      {1, decay == RuleInput::Scalar ? DecayShape::Scalar : DecayShape::Vector,
       DecayShape::None});
  const PlainRun plain = runPlainLoop(*trace, nullptr);
  Expected<ReferenceRun> run =
      runReference(*rule, *view, spec.heads, view->tokens);
  ASSERT_TRUE(run.ok()) << run.status().message();
  // Two float64 sums of 128 terms in another order, over 256 contracting
  // steps: some 100 times 2^-53 each.
  EXPECT_LE(relativeError(run->outputs, plain.outputs), 1e-12);
  EXPECT_LE(relativeError(run->states, plain.states), 1e-12);

  const PlainRun plainStored = runPlainLoop(*trace, &layout);
  Expected<ReferenceRun> stored =
      runReference(*rule, *view, spec.heads, view->tokens, layout);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  // A last bit may move an element from one code to the next, so only the
  // errors can agree: a few of 65536 codes change.
  const double error = relativeError(stored->states, run->states);
  const double plainError = relativeError(plainStored.states, plain.states);
  EXPECT_GT(plainError, 1e-3);
  EXPECT_NEAR(error, plainError, 0.01 * plainError);
}

TEST(Interpreter, GatedDeltaEqualsThePlainLoop) {
  compareWithPlainLoop("bytelm-gdn.safetensors", RuleInput::Scalar, 2);
}

TEST(Interpreter, KdaEqualsThePlainLoop) {
  compareWithPlainLoop("bytelm-kda.safetensors", RuleInput::KeyVector, 4);
}

TEST(Interpreter, SeparateEraseAndValueDecay) {
  // S1 = S diag(d) - e (S^T b)^T + k v^T: the read sees the state before the
  // decay, although it stands after it.
  constexpr int kDim = 16;
  Expected<RuleProgram> rule = program(
      kDim,
      "%S: !state, %q: !key, %k: !key, %v: !value, %d: !value, %e: !key, "
      "%b: !key",
      R"(%S1 = decant.decay %S, %d : !state, !value
         %p = decant.read %S, %b : !state
         %n = arith.negf %p : !value
         %S2 = decant.write %S1, %e, %n : !state
         %S3 = decant.write %S2, %k, %v : !state
         %o = decant.read %S3, %q : !state
         decant.yield %S3, %o : !state)");
  ASSERT_TRUE(rule.ok()) << rule.status().message();
  ASSERT_EQ(rule->inputs().size(), 6u);
  EXPECT_EQ(rule->inputs()[3], (RuleInput{"d", RuleInput::ValueVector}));

  std::mt19937 random(1);
  std::vector<double> state = randomVector(kDim * kDim, random);
  std::vector<double> expected = state, output(kDim);
  for (int token = 0; token < 3; ++token) {
    Inputs in;
    for (int i = 0; i < 6; ++i)
      in.push_back(randomVector(kDim, random));
    const auto &q = in[0], &k = in[1], &v = in[2], &d = in[3], &e = in[4],
               &b = in[5];
    const std::vector<double> old = expected;
    for (int j = 0; j < kDim; ++j) {
      double read = 0;
      for (int i = 0; i < kDim; ++i)
        read += old[i * kDim + j] * b[i];
      for (int i = 0; i < kDim; ++i)
        expected[i * kDim + j] =
            old[i * kDim + j] * d[j] - e[i] * read + k[i] * v[j];
    }
    rule->step(in, state.data(), output.data());
    for (int j = 0; j < kDim; ++j) {
      double read = 0, size = 0;
      for (int i = 0; i < kDim; ++i) {
        read += expected[i * kDim + j] * q[i];
        size += std::fabs(expected[i * kDim + j] * q[i]);
        // A handful of float64 roundings of numbers up to 1000.
        ASSERT_NEAR(state[i * kDim + j], expected[i * kDim + j], 1e-12);
      }
      ASSERT_NEAR(output[j], read, 1e-13 * size);
    }
  }
}

/// The value that `body` leaves in %r, a scalar computed from %x and %y.
double scalarResult(const std::string &body, double x, double y) {
  Expected<RuleProgram> rule =
      program(16, "%S: !state, %x: f32, %y: f32", body + R"(
                %o = decant.broadcast %r : !value
                decant.yield %S, %o : !state)");
  EXPECT_TRUE(rule.ok()) << rule.status().message();
  std::vector<double> state(256), output(16);
  if (rule.ok())
    rule->step({{x}, {y}}, state.data(), output.data());
  EXPECT_EQ(output[0], output[15]);
  return output[0];
}

TEST(Interpreter, GateForms) {
  const std::string softplus = R"(
    %limit = arith.constant 20.0 : f32
    %s = arith.addf %x, %y : f32
    %m = arith.minimumf %s, %limit : f32
    %e = math.exp %m : f32
    %l = math.log1p %e : f32
    %c = arith.cmpf ogt, %s, %limit : f32
    %r = arith.select %c, %s, %l : f32)";
  EXPECT_DOUBLE_EQ(scalarResult(softplus, 1, 0.5), std::log1p(std::exp(1.5)));
  EXPECT_EQ(scalarResult(softplus, 700, 0.5), 700.5);
  const std::string sigmoid = R"(
    %one = arith.constant 1.0 : f32
    %n = arith.negf %x : f32
    %e = math.exp %n : f32
    %s = arith.addf %one, %e : f32
    %r = arith.divf %one, %s : f32)";
  EXPECT_DOUBLE_EQ(scalarResult(sigmoid, 0.3, 0), 1 / (1 + std::exp(-0.3)));
}

TEST(Interpreter, RoundsWhereTheIrSaysSo) {
  const std::string round = R"(
    %n = arith.truncf %x : f32 to bf16
    %r = arith.extf %n : bf16 to f32)";
  EXPECT_EQ(scalarResult(round, 257, 0), 256);
  EXPECT_EQ(scalarResult("%r = arith.addf %x, %y : f32", 1, 1e-12), 1 + 1e-12);
  // A constant is what the kernel has: the f32.
  EXPECT_EQ(scalarResult("%r = arith.constant 0.1 : f32", 0, 0), double(0.1f));
}

TEST(Interpreter, VectorConstantsAndComparisons) {
  Expected<RuleProgram> rule =
      program(16, "%S: !state, %v: !value",
              R"(%zero = arith.constant dense<0.0> : !value
         %c = arith.cmpf olt, %v, %zero : !value
         %o = arith.select %c, %zero, %v
              : tensor<16xi1, #decant.axis<value>>, !value
         decant.yield %S, %o : !state)");
  ASSERT_TRUE(rule.ok()) << rule.status().message();
  std::vector<double> state(256), output(16), v(16, -1.0);
  v[3] = 7;
  rule->step({v}, state.data(), output.data());
  EXPECT_EQ(output[2], 0);
  EXPECT_EQ(output[3], 7);
}

TEST(Interpreter, RefusesWhatItDoesNotKnow) {
  Expected<RuleProgram> rule = program(16, "%S: !state, %v: !value", R"(
    %n = arith.fptosi %v : !value to tensor<16xi32, #decant.axis<value>>
    %o = arith.sitofp %n : tensor<16xi32, #decant.axis<value>> to !value
    decant.yield %S, %o : !state)");
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.status().code(), StatusCode::InvalidInput);
  EXPECT_NE(rule.status().message().find("@test: the reference cannot run"),
            std::string::npos)
      << rule.status().message();
  EXPECT_NE(rule.status().message().find("arith.fptosi"), std::string::npos);
}

} // namespace
