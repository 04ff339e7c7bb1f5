//===- SyntheticTokens.h - random tokens of a layer ---------------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a spec and what its rule takes. Out: random tokens of any number of
// sequences, as numbers for a reference and as bytes for a kernel. A token
// depends on its sequence and its place alone. Gates have the statistics of a
// trained layer (retention from 0.01 to 0.9999); vectors are short enough that
// rules which read before they write stay bounded.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_SYNTHETICTOKENS_H
#define DECANT_LIB_VERIFY_SYNTHETICTOKENS_H

#include "decant/Core/KernelImage.h"
#include "decant/Core/RuleInfo.h"

#include <map>

namespace decant {

class SyntheticTokens {
public:
  /// `inputs` as a rule program takes them: raw, with A_log and dt_bias.
  SyntheticTokens(const DecodeSpec &spec, std::vector<RuleInput> inputs,
                  bool carries);

  /// An array [heads, width] for each input, already rounded to its type. What
  /// belongs to the layer is the same in every token. Tokens that were asked
  /// for last are kept, so one thread at a time may ask.
  using Token = std::vector<std::vector<double>>;
  Token token(int sequence, int64_t number) const;

  /// What one value head gets of a token, in the program's order.
  std::vector<std::vector<double>> ofHead(const Token &token, int head) const;

  /// A token as a row of a kernel's argument; all of q, k and v for qkv.
  Status append(const Token &token, const std::string &argument,
                std::vector<uint8_t> &bytes) const;

private:
  Token make(int sequence, int64_t number) const;
  bool ofLayer(const RuleInput &input) const;
  ElementType typeOf(const RuleInput &input) const;
  int widthOf(const RuleInput &input) const;
  int headsOf(const RuleInput &input) const;

  DecodeSpec spec;
  std::vector<RuleInput> inputs;
  bool carries;
  mutable std::map<std::pair<int, int64_t>, Token> kept;
};

} // namespace decant

#endif // DECANT_LIB_VERIFY_SYNTHETICTOKENS_H
