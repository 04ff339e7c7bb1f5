//===- Oracle.h - the same layer in float64 ---------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the tokens that a Layer gets. Out: what the float64 rule answers, with an
// exact state or with the spec's format in its place.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_ORACLE_H
#define DECANT_TEST_UNIT_EXECUTION_ORACLE_H

#include "Layer.h"
#include "decant/Reference/RuleProgram.h"

namespace decant::test {

/// f32 layers against the exact rule: a rounding is 2^-24 = 6e-8, and a sum
/// over K <= 256 keys gathers sqrt(K) of them, since they are independent:
/// 1e-6. The rule forgets, so tokens do not add to that.
constexpr double kF32Bound = 1e-6;
/// What rounding to a type costs in norm: half a step is 2^-8 (bf16) or 2^-11
/// (f16) of a number just above a power of two, and errors are spread evenly
/// over it, so their root mean square is below half of that.
constexpr double kBf16Norm = 1.0 / 512, kF16Norm = 1.0 / 4096;

enum class Stored {
  Exact,  // the state stays in float64
  Format, // records are rounded; every window, the state is stored and read
};

class Oracle {
public:
  Oracle(const DecodeSpec &spec, const SlotLayout &layout, int64_t rows,
         Stored stored = Stored::Exact);

  /// The outputs of one token, [rows, value heads, value dim].
  std::vector<double> step(const Token &token);
  /// Stores and reads the state now, as a flush does.
  void store();

  /// Inputs as the program takes them; q and k have key heads, others value
  /// heads.
  const std::vector<RuleInput> &inputs() const { return program.inputs(); }
  int64_t rows() const { return rowCount; }
  const DecodeSpec &layerSpec() const { return spec; }

  std::vector<double> states;  // [rows, value heads, key dim, value dim]
  std::vector<double> carried; // [rows, value heads, vectors, key dim]

private:
  DecodeSpec spec;
  SlotLayout layout;
  int64_t rowCount;
  Stored stored;
  RuleProgram program;
  int64_t fill = 0, tokens = 0;
};

/// Inputs with the statistics of a trained layer (retention 0.01 to 0.9999),
/// rounded to the types in which the kernel gets them. A row's numbers depend
/// on its identity and the token alone: identities default to 0 .. rows - 1.
/// A_log and dt_bias are the same for all tokens.
Token makeToken(const Oracle &oracle, int token,
                const std::vector<int> &identities = {});

/// States as the float64 codec stores and reads them.
/// `tokens` and `seed` are what stochastic rounding draws by.
std::vector<double> throughCodec(const SlotLayout &layout,
                                 std::vector<double> states, int64_t tokens = 0,
                                 uint32_t seed = 0);

bool allFinite(const std::vector<double> &values);

struct Errors {
  double output = 0; // of all tokens
  double state = 0;  // at the end
  bool finite = true;
};
/// Runs `tokens` tokens on both and compares.
Errors runBoth(Layer &layer, Oracle &oracle, int tokens);

/// What a format costs, in the state after `tokens` tokens against the exact
/// rule: by the kernel and by the float64 codec. The bound on their ratio is
/// the caller's.
struct FormatErrors {
  double kernel = 0, codec = 0;
  double output = 0, codecOutput = 0;
  bool finite = true;
  double ratio() const { return kernel / codec; }
};
FormatErrors runFormat(const DecodeSpec &spec, int64_t rows, int tokens);
/// The same of a layer that was made for `spec` in another way.
FormatErrors runFormat(Layer &layer, const DecodeSpec &spec, int tokens);

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_ORACLE_H
