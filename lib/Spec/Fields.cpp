//===- Fields.cpp - every field of a spec file ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To add a field: a line here, its member in DecodeSpec, a line in Convert.cpp,
// SpecWriter.cpp and canonicalText(). The tests name what is forgotten.
//
//===----------------------------------------------------------------------===//
#include "Fields.h"

#include "decant/Spec/Presets.h"

#include "Suggest.h"

#include <fmt/format.h>

namespace decant::spec {

template <> std::vector<ElementType> enumValues() {
  return {ElementType::F32,  ElementType::F16,  ElementType::BF16,
          ElementType::I8,   ElementType::I6,   ElementType::I4,
          ElementType::I3,   ElementType::I2,   ElementType::E4M3,
          ElementType::E5M2, ElementType::E3M2, ElementType::E2M3,
          ElementType::E2M1, ElementType::E8M0, ElementType::L4,
          ElementType::L3,   ElementType::T4,   ElementType::T3};
}
template <> std::vector<Axis> enumValues() {
  return {Axis::Key, Axis::Value, Axis::Head};
}
template <> std::vector<ScaleFit> enumValues() {
  return {ScaleFit::AbsMax,       ScaleFit::SqrtMeanAbs,    ScaleFit::MinMax,
          ScaleFit::LeastSquares, ScaleFit::RootMeanSquare, ScaleFit::KeptNorm,
          ScaleFit::Static};
}
template <> std::vector<Rotation> enumValues() {
  return {Rotation::None, Rotation::Key, Rotation::Value, Rotation::Both};
}
template <> std::vector<Rounding> enumValues() {
  return {Rounding::Nearest, Rounding::Stochastic};
}
template <> std::vector<BitsRule> enumValues() {
  return {BitsRule::Even, BitsRule::Lifetime};
}
template <> std::vector<HeadMap> enumValues() {
  return {HeadMap::Group, HeadMap::Modulo};
}
template <> std::vector<InputLayout> enumValues() {
  return {InputLayout::PackedQkv, InputLayout::Separate};
}
template <> std::vector<DecayForm> enumValues() {
  return {DecayForm::Log, DecayForm::Linear, DecayForm::Softplus,
          DecayForm::LowerBound};
}
template <> std::vector<BetaForm> enumValues() {
  return {BetaForm::Value, BetaForm::Sigmoid};
}
template <> std::vector<QkNorm> enumValues() {
  return {QkNorm::None, QkNorm::L2EpsInside, QkNorm::L2EpsOutside};
}
template <> std::vector<PadPolicy> enumValues() {
  return {PadPolicy::None, PadPolicy::Negative, PadPolicy::NonPositive};
}

namespace {

const std::vector<std::string> floatWords() { return {"f32", "f16", "bf16"}; }

std::vector<std::string> wordsWhere(bool (*allowed)(ElementType)) {
  std::vector<std::string> words;
  for (ElementType type : enumValues<ElementType>())
    if (allowed(type))
      words.push_back(toString(type));
  return words;
}
bool isCode(ElementType type) { return type != ElementType::E8M0; }
bool isScaledCode(ElementType type) {
  return isCode(type) && !isWideFloat(type);
}
/// Those whose layers may have numbers of their own.
bool isPlannedCode(ElementType type) {
  return isInteger(type) || isTable(type);
}
bool isScale(ElementType type) {
  return isWideFloat(type) || type == ElementType::E4M3 ||
         type == ElementType::E8M0;
}

std::vector<std::string> presetNames(PresetKind kind) {
  std::vector<std::string> names;
  for (const PresetFile &file : presetFiles())
    if (file.kind == kind)
      names.emplace_back(file.name);
  return names;
}

// Makers of a field; what they return is adjusted by the modifiers below.

Field words(std::string name, std::vector<std::string> words,
            std::string about) {
  Field field;
  field.name = std::move(name);
  field.about = std::move(about);
  field.text = TextRule::Words;
  field.words = std::move(words);
  return field;
}

Field text(std::string name, TextRule rule, std::string about) {
  Field field = words(std::move(name), {}, std::move(about));
  field.text = rule;
  return field;
}

Field number(std::string name, NumberRange range, std::string about) {
  Field field = text(std::move(name), TextRule::None, std::move(about));
  field.number = range;
  return field;
}

Field integer(std::string name, int low, int high, std::string about) {
  return number(std::move(name),
                {NumberKind::Integer, double(low), double(high)},
                std::move(about));
}

Field object(std::string name, std::vector<Field> members, std::string about) {
  Field field = text(std::move(name), TextRule::None, std::move(about));
  field.members = std::move(members);
  return field;
}

Field optional(Field field, Json fallback = nullptr) {
  field.presence = Presence::Optional;
  field.fallback = std::move(fallback);
  return field;
}

Field optionalLike(Field field, std::string sibling) {
  field = optional(std::move(field));
  field.fallbackSibling = std::move(sibling);
  return field;
}

Field onlyWhen(Field field, std::string sibling,
               std::vector<std::string> words) {
  field.onlyWhen = Condition{std::move(sibling), std::move(words)};
  return field;
}

Field fromMethod(Field field) {
  field.fromMethod = true;
  return field;
}

//===----------------------------------------------------------------------===//
// The table. Required without a default: everything on which engines differ.
//===----------------------------------------------------------------------===//

/// Published rules that are no sequence of decays, reads and rank-1 writes of
/// one matrix state, by the names of their implementations.
std::vector<Refusal> rulesOutOfScope() {
  const std::string chained =
      "it chains two states with a softmax between them, so that a read is not "
      "linear in what is stored";
  const std::string gradients =
      "a token's update is an inner training step (layer norm, momentum, "
      "mini-batches), which is no rank-1 write";
  const std::string noMatrix =
      "its state is a vector per channel and not a matrix: there are no rank-1 "
      "terms to keep, and little to quantize";
  return {{"gsa", chained},
          {"abc", chained},
          {"mesa_net",
           "its read solves a linear system in a second matrix state by "
           "conjugate gradients"},
          {"log_linear_attn",
           "it keeps a number of states that grows with the sequence and reads "
           "them with weights of their own"},
          {"ttt", gradients},
          {"titans", gradients},
          {"rwkv4", noMatrix},
          {"hgrn", noMatrix}};
}

Field ruleField() {
  Field rule = object(
      "rule",
      {optional(text("file", TextRule::Line,
                     "a .mlir file, relative to the spec file")),
       optional(text("text", TextRule::Any, "the MLIR text itself")),
       optional(text("name", TextRule::Line, "a label for messages"))},
      "what one token does to the state: a rule preset, or the MLIR of one "
      "decant.rule");
  rule.text = TextRule::Words;
  rule.words = presetNames(PresetKind::Rule);
  rule.refused = rulesOutOfScope();
  rule.exactlyOneOf = {"file", "text"};
  return rule;
}

Field headsField() {
  return object(
      "heads",
      {integer("key", 1, kMaxHeads, "query/key heads"),
       integer("value", 1, kMaxHeads, "value heads, a multiple of heads.key"),
       integer("key_dim", kMinDim, kMaxDim, "rows of a head's state"),
       integer("value_dim", kMinDim, kMaxDim, "columns of a head's state"),
       words("map", wordsOf<HeadMap>(),
             "which query/key head a value head h reads: group is "
             "h / (value / key), modulo is h % key")},
      "head counts and dimensions");
}

Field scaleField() {
  Field scale =
      words("scale", {"rsqrt_key_dim", "one"}, "multiplies q after the norm");
  scale.number = NumberRange{NumberKind::Real, kMinReal, kMaxReal};
  return scale;
}

Field inputsField() {
  return object(
      "inputs",
      {words("type", floatWords(), "element type of q, k and v"),
       optionalLike(words("output", floatWords(), "element type of the output"),
                    "type"),
       words("layout", wordsOf<InputLayout>(),
             "packed_qkv is one row of q heads, k heads and v heads, separate "
             "is three tensors"),
       words("decay", wordsOf<DecayForm>(),
             "what the decay input holds: log is g with decay exp(g), linear "
             "the decay itself, softplus is a with g = -exp(A_log) softplus(a "
             "+ dt_bias), lower_bound is a with g = lower_bound "
             "sigmoid(exp(A_log) (a + dt_bias))"),
       optional(words("gate_type", floatWords(),
                      "element type of the decay and beta inputs"),
                "f32"),
       onlyWhen(number("lower_bound", {NumberKind::Real, -kMaxReal, -kMinReal},
                       "the least log decay"),
                "decay", {"lower_bound"}),
       words("beta", wordsOf<BetaForm>(),
             "value is beta itself, sigmoid is its logit"),
       optional(integer("beta_scale", 1, 2,
                        "multiplies beta; 2 allows negative eigenvalues"),
                1),
       optional(words("beta_round", floatWords(),
                      "beta is rounded to this type before use"),
                "f32"),
       words("qk_norm", wordsOf<QkNorm>(),
             "l2_eps_inside is x / sqrt(sum x^2 + eps), l2_eps_outside is x / "
             "(sqrt(sum x^2) + eps)"),
       onlyWhen(optional(number("norm_eps", {NumberKind::Real, kMinReal, 1},
                                "eps of qk_norm"),
                         1e-6),
                "qk_norm", {"l2_eps_inside", "l2_eps_outside"}),
       scaleField(),
       words("pad", wordsOf<PadPolicy>(),
             "which slot numbers mark padding rows, whose output is 0")},
      "tensors that a step gets and how they are read");
}

Field bitsField() {
  return object(
      "bits",
      {number("mean", {NumberKind::Real, kMinRowBits, kPivotBits},
              "bits of a code in the mean over all key rows"),
       words("by", wordsOf<BitsRule>(),
             "even deals the two widths around the mean out in turn, lifetime "
             "takes them from state.plan"),
       optional(integer("pivots", 0, kMaxDim - 1,
                        "rows of each head that are f16 under no scale, and "
                        "count with 16 bits"),
                0)},
      "key rows whose codes have fewer bits than those of int8, whose scales "
      "they share");
}

/// Files have the same fields.
Field planField() {
  auto arrayOf = [](const char *name, Field element, int most,
                    const char *about) {
    Field array = text(name, TextRule::None, about);
    array.element = {std::move(element)};
    array.maxElements = most;
    return array;
  };
  Field rows = integer("", kMinRowBits, kMaxRowBits,
                       "a digit per key row, or one width for all");
  rows.text = TextRule::Line;
  const NumberRange positive = {NumberKind::Real, kMinReal, kMaxReal};
  // One for all rows of a head, or each its own; blocks have 16 elements.
  Field ofHead = arrayOf("", number("", positive, ""), kMaxDim * kMaxDim / 16,
                         "numbers of a head's key rows");
  ofHead.number = positive;
  Field plan = object(
      "plan",
      {integer("decant_plan", 1, 1, "version of the plan format"),
       optional(text("description", TextRule::Any, "not read")),
       integer("heads", 1, kMaxHeads, "value heads, as in the spec"),
       integer("key_dim", kMinDim, kMaxDim,
               "key rows of a head, as in the spec"),
       optional(arrayOf("bits", std::move(rows), kMaxHeads,
                        "one entry per value head: the bits of its key rows, a "
                        "digit each, f for a pivot, or one width for all of "
                        "them")),
       optional(arrayOf("weights", ofHead, kMaxHeads,
                        "one entry per value head: what its key rows weigh in "
                        "fits, sqrt_mean_abs of rows and least_squares of "
                        "columns")),
       optional(arrayOf("levels", number("", {NumberKind::Real, -1, 1}, ""), 16,
                        "what codes of table4 and table3 stand for, in rising "
                        "order")),
       optional(arrayOf("scales", ofHead, kMaxHeads,
                        "one entry per value head: static scales of its key "
                        "rows, block by block, or one for all"))},
      "numbers of a layer, the bits of each key row among them: a file that "
      "decant calibrate made, relative to the spec file, or what stands in "
      "one; not read where state.bits.by is even");
  plan.text = TextRule::Line;
  return plan;
}

Field stateField() {
  Field scales =
      text("scale", TextRule::None,
           "scales of the codes in the order in which they are "
           "fitted: one per axis at most; only the last one may have "
           "blocks");
  scales.element = {object(
      "",
      {words("axis", wordsOf<Axis>(),
             "key: one scale per row, value: one per column, head: one"),
       words("fit", wordsOf<ScaleFit>(),
             "absmax is max |x| / the largest code (127 for int8, 31 for "
             "int6, 448 for e4m3), sqrt_mean_abs is sqrt(mean |x|), minmax is "
             "(max x - min x) / (2^bits - 1) with an offset beside it, "
             "least_squares is absmax and then the best scale for the codes "
             "that it gave, rms is sqrt(mean x^2), for lloyd codes, kept_norm "
             "is rms and then the scale that keeps the norm of x, static is "
             "state.plan's and not stored"),
       words("type", wordsWhere(isScale),
             "how the scale is stored; e8m0 is rounded down to a power of "
             "two, and absmax then divides by the power of two in the largest "
             "code"),
       onlyWhen(optional(integer("block", 16, 128,
                                 "cuts each row (axis key) or column (axis "
                                 "value) in blocks of 16, 32, 64 or 128 "
                                 "elements with a scale each")),
                "axis", {"key", "value"})},
      "one scale vector")};
  scales.maxElements = 4;
  return object(
      "state",
      {words("codes", wordsWhere(isCode),
             "how an element of the state is stored"),
       onlyWhen(std::move(scales), "codes", wordsWhere(isScaledCode)),
       onlyWhen(optional(words("rotate", wordsOf<Rotation>(),
                               "axes along which a Hadamard matrix spreads "
                               "outliers before scales are fitted; an axis "
                               "whose decays are vectors cannot be rotated"),
                         "none"),
                "codes", wordsWhere(isScaledCode)),
       onlyWhen(optional(integer("rotate_block", 16, 128,
                                 "most elements of a Hadamard matrix: 16, 32, "
                                 "64 or 128; as many as the axis allows when "
                                 "absent")),
                "codes", wordsWhere(isScaledCode)),
       onlyWhen(optional(words("round", wordsOf<Rounding>(),
                               "to the nearest code, or by chance to one of "
                               "the two around an element, right on average"),
                         "nearest"),
                "codes", wordsWhere(isScaledCode)),
       onlyWhen(optional(bitsField()), "codes", {"int8"}),
       onlyWhen(optional(planField()), "codes", wordsWhere(isPlannedCode))},
      "how the state is stored");
}

Field windowField() {
  return object(
      "window",
      {integer("length", 1, kMaxWindow,
               "tokens between two rewrites of the codes; 1 rewrites them at "
               "every token"),
       optional(integer("compensators", 0, kMaxCompensators,
                        "rank-1 terms that are fitted before encoding"),
                0),
       optional(words("compensator_type", {"f16", "bf16", "int8", "e4m3"},
                      "how their vectors are stored; int8 and e4m3 have one "
                      "f32 scale per term"),
                "f16"),
       optional(integer("compensator_rounds", 1, kMaxCompensatorRounds,
                        "rounds of subspace iteration in their fit"),
                1),
       optional(words("records", {"f32", "f16", "bf16", "auto"},
                      "how the tokens of a window are stored; auto is f32 "
                      "beside f32 codes and f16 beside others"),
                "auto")},
      "when the state is rewritten");
}

Field rootField() {
  return object(
      "",
      {optional(text("$schema", TextRule::Any, "for editors; not read")),
       integer("decant", 1, 1, "version of the spec format"),
       optional(text("name", TextRule::Line,
                     "for messages and reports; the file's name without its "
                     "ending when absent")),
       optional(text("description", TextRule::Any, "not read")),
       optional(words("preset", presetNames(PresetKind::Method),
                      "a method, whose fields this spec overrides")),
       ruleField(), headsField(), inputsField(), fromMethod(stateField()),
       fromMethod(windowField()),
       fromMethod(optional(integer("tokens_per_step", 1, kMaxTokensPerStep,
                                   "most tokens of a row that one step "
                                   "decodes; beyond 1 the window holds them "
                                   "until they are accepted"),
                           1))},
      "a decode kernel of Decant");
}

} // namespace

const Field &specFields() {
  static const Field root = rootField();
  return root;
}

const Field *findMember(const Field &object, const std::string &name) {
  for (const Field &member : object.members)
    if (member.name == name)
      return &member;
  return nullptr;
}

std::string describe(const Field &field) {
  std::vector<std::string> parts = field.words;
  if (field.text == TextRule::Line)
    parts.push_back("a line of 1 to 256 bytes");
  if (field.text == TextRule::Any)
    parts.push_back("a string");
  if (field.number && field.number->low == field.number->high)
    parts.push_back(fmt::format("{} ({})", field.number->low, field.about));
  else if (field.number)
    parts.push_back(fmt::format(
        "{} from {} to {}",
        field.number->kind == NumberKind::Integer ? "an integer" : "a number",
        field.number->low, field.number->high));
  if (!field.exactlyOneOf.empty()) {
    parts.push_back("an object with " + join(field.exactlyOneOf));
  } else if (!field.members.empty()) {
    std::vector<std::string> names;
    for (const Field &member : field.members)
      names.push_back(member.name);
    parts.push_back("an object with " + join(names, "and"));
  }
  if (!field.element.empty())
    parts.push_back(fmt::format("an array of 1 to {} entries, each {}",
                                field.maxElements, describe(field.element[0])));
  return join(parts);
}

} // namespace decant::spec
