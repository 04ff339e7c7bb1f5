//===- DecodeSpec.h - what is asked of a kernel -----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The in-memory form of a spec file (stage `spec`). A DecodeSpec is complete:
// presets and overrides are resolved, the rule's text is inside, so that
// compiling it needs no file system.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_DECODESPEC_H
#define DECANT_CORE_DECODESPEC_H

#include "decant/Core/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace decant {

/// Integers and small floats of less than 8 bits are for codes only. ExMy is a
/// sign, x bits of exponent and y of fraction (OCP 8-bit and microscaling
/// formats; Numeric.h has their limits); E8M0 is a power of two, for scales.
/// Lx is an index to the 2^x levels that are best for a normal distribution
/// (Lloyd-Max), sign first; Tx one to 2^x levels of a plan, in rising order.
enum class ElementType {
  F32,
  F16,
  BF16,
  I8,
  I6,
  I4,
  I3,
  I2,
  E4M3,
  E5M2,
  E3M2,
  E2M3,
  E2M1,
  E8M0,
  L4,
  L3,
  T4,
  T3
};
int elementBits(ElementType type);
/// Bytes of one element of a type that fills whole bytes.
int elementBytes(ElementType type);
bool isInteger(ElementType type);
/// f32, f16 or bf16: what inputs, records and sums can be.
bool isWideFloat(ElementType type);
/// An index to levels, of either kind.
bool isCodebook(ElementType type);
/// Whose levels a plan has.
bool isTable(ElementType type);
/// A float of at most 8 bits with a sign, that is not E8M0.
bool isSmallFloat(ElementType type);
/// Integer codes are symmetric: -maxCode .. maxCode, 2^(bits - 1) - 1.
int maxCode(ElementType type);
const char *toString(ElementType type);

/// Along what a scale of a state S [key dim, value dim] varies: one for each
/// key row, one for each value column, or one for the whole head.
enum class Axis { Key, Value, Head };
const char *toString(Axis axis);

/// How a scale is fitted to the elements E that share it:
/// AbsMax is max |E| / the largest code, SqrtMeanAbs is sqrt(mean |E|)
/// (LeapQuant eq. 7), MinMax spreads all codes of an integer from min E to
/// max E, which takes an offset beside the scale. LeastSquares is AbsMax, after
/// which the scale becomes the one that is best for the codes that it gave
/// (STEPQuant eq. 13). RootMeanSquare is sqrt(mean E^2), the unit of codebooks
/// of a normal distribution; KeptNorm is the same for the codes, after which
/// the scale becomes the one under which they have the norm that E had
/// (TurboQuant's norm correction). Static scales are a plan's, and are not
/// stored.
enum class ScaleFit {
  AbsMax,
  SqrtMeanAbs,
  MinMax,
  LeastSquares,
  RootMeanSquare,
  KeptNorm,
  Static
};
/// Axes along which what is stored is the state times an orthonormal Hadamard
/// matrix, of the largest power of two that divides the dim (QuaRot). Along the
/// keys only where all keys decay alike, along the values likewise.
enum class Rotation { None, Key, Value, Both };
const char *toString(Rotation rotation);
/// The Hadamard matrices of an axis are of this many elements each; of `most`
/// at most, unless that is 0.
int rotationBlock(int dim, int most = 0);
/// Which value heads share a query/key head: Group is hv / (value / key) (vLLM,
/// SGLang, FLA), Modulo is hv % key (ggml).
enum class HeadMap { Group, Modulo };
/// Packed is one row [q heads | k heads | v heads] per sequence, Separate is
/// three tensors.
enum class InputLayout { PackedQkv, Separate };
/// What the decay input holds. Log: g, the decay is exp(g). Linear: the decay.
/// Softplus: a, g = -exp(A_log) softplus(a + dt_bias), softplus(x) = x above
/// 20. LowerBound: g = lower_bound sigmoid(exp(A_log) (a + dt_bias)).
enum class DecayForm { Log, Linear, Softplus, LowerBound };
/// Value: beta itself. Sigmoid: its logit.
enum class BetaForm { Value, Sigmoid };
/// L2EpsInside is x / sqrt(sum x^2 + eps), L2EpsOutside is
/// x / (sqrt(sum x^2) + eps).
enum class QkNorm { None, L2EpsInside, L2EpsOutside };
/// Which slot numbers mark padding rows (no slot is touched, the output is 0).
enum class PadPolicy { None, Negative, NonPositive };

const char *toString(ScaleFit fit);
const char *toString(HeadMap map);
const char *toString(InputLayout layout);
const char *toString(DecayForm form);
const char *toString(BetaForm form);
const char *toString(QkNorm norm);
const char *toString(PadPolicy policy);

struct RuleRef {
  std::string name; // preset name, or the file as the user wrote it
  std::string text; // MLIR text of one decant.rule
  friend bool operator==(const RuleRef &, const RuleRef &);
};

struct HeadShape {
  int key = 0, value = 0;       // heads; value is a multiple of key
  int keyDim = 0, valueDim = 0; // 16..256
  HeadMap map = HeadMap::Group;
};

struct InputSpec {
  ElementType type = ElementType::BF16;   // q, k, v and a rule's extra inputs
  ElementType output = ElementType::BF16; // o
  InputLayout layout = InputLayout::Separate;
  DecayForm decay = DecayForm::Log;
  ElementType gateType = ElementType::F32; // decay and beta inputs
  double lowerBound = 0;                   // < 0, only with LowerBound
  BetaForm beta = BetaForm::Value;
  double betaScale = 1;                     // 2 allows negative eigenvalues
  ElementType betaRound = ElementType::F32; // beta is rounded to this type
  QkNorm qkNorm = QkNorm::L2EpsInside;
  double normEps = 1e-6;
  double scale = 1; // multiplies q after the norm; resolved from its name
  PadPolicy pad = PadPolicy::Negative;
};

struct ScaleSpec {
  Axis axis = Axis::Key;
  ScaleFit fit = ScaleFit::AbsMax;
  ElementType type = ElementType::F32; // wide floats, E4M3 or E8M0
  /// Not 0: rows (or columns) are cut in blocks of as many elements, each with
  /// a scale of its own.
  int block = 0;
};
/// Whether the scale belongs to groups of elements that are applied row by row:
/// blocks, rows and columns with an offset, and those of plans. Others factor
/// out of sums.
bool isGrouped(const ScaleSpec &scale);

/// How an element between two codes becomes one of them. Stochastic: the upper
/// one as often as the element is near to it, by a hash of the sequence's seed
/// (SlotLayout.h), its token count, the head and the element's place
/// (Numeric.h); so sequences of equal seeds round alike, in whatever slot or
/// batch they are.
enum class Rounding { Nearest, Stochastic };
const char *toString(Rounding rounding);

/// Who decides on the bits of a key row: Even deals the two widths around the
/// mean out in turn, Lifetime takes them from a plan, which `decant calibrate`
/// makes.
enum class BitsRule { Even, Lifetime };
const char *toString(BitsRule rule);

/// Codes of bits that differ by key row, all under the scales of int8 codes: a
/// row of b bits has every 2^(8 - b)-th of them. Pivots are rows of f16 under
/// no scale, which count with their 16 bits.
struct RowBits {
  double mean = 0; // allowed per code; 0: as many as the widths have
  BitsRule by = BitsRule::Even;
  int pivots = 0;              // of each head
  std::vector<uint8_t> widths; // [value heads, key dim]; empty: all of the type
};

/// Widths as text, a digit per row, f for a pivot, and back; nullopt for other
/// characters.
std::string digitsOf(const std::vector<uint8_t> &widths);
std::optional<std::vector<uint8_t>> rowBitsOf(const std::string &digits);
/// Widths for `rows` rows of a head, or of several without pivots, whose mean
/// is `mean` or just below: `pivots` rows at even distances, and the two widths
/// around what is left for the others, dealt out in turn.
std::vector<uint8_t> evenRowBits(double mean, int64_t rows, int pivots = 0);

/// Numbers that belong to a layer and not to a format: plans bring them.
struct PlanTables {
  /// What rows weigh in fits [value heads, key dim]; empty: all alike.
  std::vector<float> weights;
  /// Of codes of tables: 2^bits numbers within [-1, 1], in rising order.
  std::vector<float> levels;
  /// Static scales [value heads, key dim, blocks of a row].
  std::vector<float> scales;

  bool empty() const {
    return weights.empty() && levels.empty() && scales.empty();
  }
};

struct StateSpec {
  ElementType codes = ElementType::F32;
  std::vector<ScaleSpec> scales; // in the order of their fits; not wide floats
  Rotation rotation = Rotation::None;    // likewise
  int rotationBlock = 0;                 // most elements of a matrix; 0: any
  Rounding rounding = Rounding::Nearest; // of integers and small floats
  RowBits bits = {};                     // int8 only
  PlanTables tables = {};
};

struct WindowSpec {
  int length = 1;                         // 1..64 tokens
  int compensators = 0;                   // 0..16 rank-1 terms
  ElementType records = ElementType::F16; // F32, F16 or BF16
  /// How a compensator's two vectors are stored: F16, BF16, or I8 or E4M3 with
  /// one f32 scale per compensator.
  ElementType compensatorType = ElementType::F16;
  int compensatorRounds = 1; // of subspace iteration in their fit
};

struct DecodeSpec {
  std::string name;
  RuleRef rule;
  HeadShape heads;
  InputSpec inputs;
  StateSpec state;
  WindowSpec window;
  int tokensPerStep = 1; // 1..8; beyond 1 at most window.length
};

constexpr int kMinDim = 16, kMaxDim = 256;
constexpr int kMaxWindow = 64;
constexpr int kMaxTokensPerStep = 8;
constexpr int kMaxHeads = 4096;
/// Magnitudes of real-valued fields that f32 arithmetic keeps apart from 0.
constexpr double kMinReal = 1e-30, kMaxReal = 1e30;
constexpr int kMaxCompensators = 16;
constexpr int kMaxCompensatorRounds = 4;
constexpr int kMinRowBits = 2, kMaxRowBits = 8;
constexpr int kPivotBits = 16;

/// A contradiction between fields: `path` is the field's JSON path, `message`
/// says what was found and what is allowed.
struct SpecIssue {
  std::string path, message;
};
/// Every rule that a DecodeSpec must satisfy; empty when it is sound.
std::vector<SpecIssue> check(const DecodeSpec &spec);

/// One line per field, stable across builds; two specs with equal text compile
/// to equal code. Covers every field but `name`.
std::string canonicalText(const DecodeSpec &spec);

} // namespace decant

#endif // DECANT_CORE_DECODESPEC_H
