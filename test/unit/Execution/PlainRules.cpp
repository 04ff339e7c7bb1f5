//===- PlainRules.cpp - every rule preset as plain loops ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainRules.h"

#include "decant/Core/RuleInfo.h"

#include <cmath>

using namespace decant;
using namespace decant::test;

//===----------------------------------------------------------------------===//
// One head
//===----------------------------------------------------------------------===//

Numbers PlainHead::read(const Numbers &key) const {
  Numbers result(values);
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j)
      result[j] += state[i * values + j] * key[i];
  return result;
}

Numbers PlainHead::readKey(const Numbers &value) const {
  Numbers result(keys);
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j)
      result[i] += state[i * values + j] * value[j];
  return result;
}

void PlainHead::write(const Numbers &key, const Numbers &value) {
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j)
      state[i * values + j] += key[i] * value[j];
}

void PlainHead::decay(double factor) {
  for (double &element : state)
    element *= factor;
}

void PlainHead::decayKeys(const Numbers &factors) {
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j)
      state[i * values + j] *= factors[i];
}

void PlainHead::decayValues(const Numbers &factors) {
  for (int i = 0; i < keys; ++i)
    for (int j = 0; j < values; ++j)
      state[i * values + j] *= factors[j];
}

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

namespace {

double dot(const Numbers &x, const Numbers &y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += x[i] * y[i];
  return sum;
}
template <typename Function> Numbers each(Numbers x, Function function) {
  for (double &element : x)
    element = function(element);
  return x;
}
template <typename Function>
Numbers both(Numbers x, const Numbers &y, Function function) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = function(x[i], y[i]);
  return x;
}
Numbers times(const Numbers &x, double factor) {
  return each(x, [&](double element) { return factor * element; });
}
Numbers product(const Numbers &x, const Numbers &y) {
  return both(x, y, [](double a, double b) { return a * b; });
}
Numbers minus(const Numbers &x, const Numbers &y) {
  return both(x, y, [](double a, double b) { return a - b; });
}
Numbers exponentials(const Numbers &x) {
  return each(x, [](double element) { return std::exp(element); });
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

/// S += k v^T without a decay.
Numbers linearAttention(PlainHead &head, const HeadInputs &in) {
  head.write(in.at("k"), in.at("v"));
  return head.read(in.at("q"));
}

Numbers normalizedAttention(PlainHead &head, const HeadInputs &in) {
  for (int i = 0; i < head.keys; ++i)
    head.carried[i] += in.at("k")[i];
  head.write(in.at("k"), in.at("v"));
  const double weight = dot(in.at("q"), head.carried) + double(1e-10f);
  return times(head.read(in.at("q")), 1 / weight);
}

/// Retention, lightning attention and simple GLA: where the decay comes from is
/// the only difference.
Numbers scalarDecay(PlainHead &head, const HeadInputs &in) {
  head.decay(std::exp(in.at("decay")[0]));
  head.write(in.at("k"), in.at("v"));
  return head.read(in.at("q"));
}

Numbers mamba2(PlainHead &head, const HeadInputs &in) {
  const double dt = softplus(in.at("dt")[0] + in.at("dt_bias")[0]);
  head.decay(std::exp(-std::exp(in.at("A_log")[0]) * dt));
  const Numbers &x = in.at("v");
  head.write(in.at("k"), times(x, dt));
  Numbers y = head.read(in.at("q"));
  for (int j = 0; j < head.values; ++j)
    y[j] += in.at("D")[0] * x[j];
  return y;
}

Numbers keyDecay(PlainHead &head, const HeadInputs &in) {
  head.decayKeys(exponentials(in.at("decay")));
  head.write(in.at("k"), in.at("v"));
  return head.read(in.at("q"));
}

Numbers bothDecays(PlainHead &head, const HeadInputs &in) {
  head.decayKeys(exponentials(in.at("decay")));
  head.decayValues(exponentials(in.at("gv")));
  head.write(in.at("k"), in.at("v"));
  return head.read(in.at("q"));
}

Numbers rwkv6(PlainHead &head, const HeadInputs &in) {
  PlainHead bonus = head; // S + (u o k) v^T, for the read alone
  bonus.write(product(in.at("u"), in.at("k")), in.at("v"));
  const Numbers output = bonus.read(in.at("q"));
  head.decayKeys(exponentials(in.at("decay")));
  head.write(in.at("k"), in.at("v"));
  return output;
}

/// S += k (beta (v - S^T k))^T, then the read.
Numbers correct(PlainHead &head, const HeadInputs &in, const Numbers &beta) {
  Numbers error = minus(in.at("v"), head.read(in.at("k")));
  for (int j = 0; j < head.values; ++j)
    error[j] *= beta[beta.size() == 1 ? 0 : j];
  head.write(in.at("k"), error);
  return head.read(in.at("q"));
}

Numbers delta(PlainHead &head, const HeadInputs &in) {
  return correct(head, in, in.at("beta"));
}

/// beta = 2 sigmoid(b): eigenvalues from -1 to 1.
Numbers negativeDelta(PlainHead &head, const HeadInputs &in) {
  return correct(head, in, {2 * sigmoid(in.at("beta")[0])});
}

Numbers gatedDelta(PlainHead &head, const HeadInputs &in) {
  head.decay(std::exp(in.at("decay")[0]));
  return correct(head, in, in.at("beta"));
}

Numbers kda(PlainHead &head, const HeadInputs &in) {
  head.decayKeys(exponentials(in.at("decay")));
  return correct(head, in, in.at("beta"));
}

Numbers softplusKda(PlainHead &head, const HeadInputs &in) {
  const double rate = std::exp(in.at("A_log")[0]);
  head.decayKeys(
      both(in.at("decay"), in.at("dt_bias"), [&](double a, double b) {
        return std::exp(-rate * softplus(a + b));
      }));
  return correct(head, in, in.at("beta"));
}

Numbers boundedKda(PlainHead &head, const HeadInputs &in) {
  const double rate = std::exp(in.at("A_log")[0]);
  head.decayKeys(
      both(in.at("decay"), in.at("dt_bias"), [&](double a, double b) {
        return std::exp(-5 * sigmoid(rate * (a + b)));
      }));
  return correct(head, in, in.at("beta"));
}

Numbers gdn2(PlainHead &head, const HeadInputs &in) {
  const Numbers &k = in.at("k");
  head.decayKeys(exponentials(in.at("decay")));
  const Numbers erased = head.read(product(in.at("b"), k));
  head.write(k, minus(product(in.at("w"), in.at("v")), erased));
  return head.read(in.at("q"));
}

Numbers comba(PlainHead &head, const HeadInputs &in) {
  const Numbers error = minus(in.at("v"), head.read(in.at("p")));
  head.decay(std::exp(in.at("decay")[0]));
  head.write(in.at("k"), times(error, in.at("beta")[0]));
  return head.read(in.at("q"));
}

Numbers gatedOja(PlainHead &head, const HeadInputs &in) {
  head.decayValues(exponentials(in.at("decay")));
  const Numbers error = minus(in.at("k"), head.readKey(in.at("v")));
  head.write(times(error, in.at("beta")[0]), in.at("v"));
  return head.read(in.at("q"));
}

/// Updates A and returns the write key k o M. The constants are f32 in the
/// rule.
Numbers preconditioned(PlainHead &head, const HeadInputs &in) {
  Numbers key = in.at("k");
  for (int i = 0; i < head.keys; ++i) {
    double &a = head.carried[i];
    a = std::exp(in.at("g_atk")[0]) * a +
        in.at("beta_atk")[0] * key[i] * key[i];
    const double r = std::log(a + double(1e-6f)) + double(0.2f);
    key[i] *= std::exp(-double(float(std::log(1.5))) * r / (1 + std::fabs(r)));
  }
  return key;
}

Numbers preconditionedDelta(PlainHead &head, const HeadInputs &in) {
  const Numbers key = preconditioned(head, in);
  const Numbers &g = in.at("decay");
  if (g.size() == 1)
    head.decay(std::exp(g[0]));
  else
    head.decayKeys(exponentials(g));
  const Numbers error = minus(in.at("v"), head.read(in.at("k")));
  head.write(key, times(error, in.at("beta")[0]));
  return head.read(in.at("q"));
}

Numbers iplr(PlainHead &head, const HeadInputs &in) {
  head.write(in.at("b"), head.read(in.at("a")));
  head.write(in.at("k"), in.at("v"));
  return head.read(in.at("q"));
}

Numbers dplr(PlainHead &head, const HeadInputs &in) {
  const Numbers moved = head.read(in.at("a"));
  head.decayKeys(exponentials(in.at("decay")));
  head.write(in.at("b"), moved);
  head.write(in.at("k"), in.at("v"));
  return head.read(in.at("q"));
}

Numbers rwkv7(PlainHead &head, const HeadInputs &in) {
  const Numbers removed = head.read(in.at("kk"));
  head.decayKeys(exponentials(in.at("decay")));
  head.write(times(product(in.at("kk"), in.at("a")), -1), removed);
  head.write(in.at("k"), in.at("v"));
  return head.read(in.at("q"));
}

Numbers deltaProduct(PlainHead &head, const HeadInputs &in, int steps) {
  head.decay(std::exp(in.at("decay")[0]));
  for (int step = 0; step < steps; ++step) {
    const std::string number = step == 0 ? "" : std::to_string(step);
    const Numbers &k = in.at("k" + number);
    const Numbers error = minus(in.at("v" + number), head.read(k));
    head.write(k, times(error, in.at("beta" + number)[0]));
  }
  return head.read(in.at("q"));
}
Numbers twoProducts(PlainHead &head, const HeadInputs &in) {
  return deltaProduct(head, in, 2);
}
Numbers threeProducts(PlainHead &head, const HeadInputs &in) {
  return deltaProduct(head, in, 3);
}

//===----------------------------------------------------------------------===//
// Random inputs that keep a rule bounded
//===----------------------------------------------------------------------===//

void toUnit(Numbers &x) { x = times(x, 1 / std::sqrt(dot(x, x))); }
void toGate(Numbers &x) { x = each(x, sigmoid); }
void toLogDecay(Numbers &x) {
  x = each(x, [](double e) { return -0.2 * std::exp(e); });
}

/// A feature map's images: the normalizer divides by their products.
void shapePositive(HeadInputs &in) {
  for (const char *name : {"q", "k"})
    in[name] = each(in[name], [](double e) { return std::fabs(e); });
}
void shapeValueDecay(HeadInputs &in) { toLogDecay(in["gv"]); }
/// k = 1 - f, as the layer ties them.
void shapeTied(HeadInputs &in) {
  in["k"] = each(in["decay"], [](double g) { return 1 - std::exp(g); });
}
void shapeGdn2(HeadInputs &in) {
  toGate(in["b"]);
  toGate(in["w"]);
}
void shapeComba(HeadInputs &in) { toUnit(in["p"]); }
void shapeOja(HeadInputs &in) { toUnit(in["v"]); }
void shapePrecond(HeadInputs &in) {
  toLogDecay(in["g_atk"]);
  toGate(in["beta_atk"]);
}
/// b = -(a gate) o a: I + b a^T then moves nothing by more than its length.
void shapeLowRank(HeadInputs &in) {
  toUnit(in["a"]);
  toGate(in["b"]);
  in["b"] = times(product(in["b"], in["a"]), -1);
}
void shapeRwkv7(HeadInputs &in) {
  toUnit(in["kk"]);
  toGate(in["a"]);
}

const std::vector<std::string> kRaw = {"inputs.qk_norm=none",
                                       "inputs.scale=one"};
std::vector<std::string> rawAnd(std::vector<std::string> more) {
  more.insert(more.end(), kRaw.begin(), kRaw.end());
  return more;
}

} // namespace

const std::vector<PlainRule> &test::plainRules() {
  static const std::vector<PlainRule> rules = {
      {"linear_attention", linearAttention, kRaw, nullptr},
      {"linear_attention_normalized", normalizedAttention, kRaw, shapePositive},
      {"retention", scalarDecay, {}, nullptr},
      {"lightning_attention", scalarDecay, kRaw, nullptr},
      {"simple_gla", scalarDecay, {}, nullptr},
      {"mamba2", mamba2, rawAnd({"heads.key=2", "heads.value=4"}), nullptr},
      {"gla", keyDecay, kRaw, nullptr},
      {"gla_value", bothDecays, kRaw, shapeValueDecay},
      {"hgrn2", keyDecay, rawAnd({"heads.key=2"}), shapeTied},
      {"rwkv6", rwkv6, kRaw, nullptr},
      {"delta", delta, {}, nullptr},
      {"delta.negative",
       negativeDelta,
       {"inputs.beta=sigmoid", "inputs.beta_scale=2"},
       nullptr},
      {"delta_value_beta", delta, {}, nullptr},
      {"gated_delta", gatedDelta, {}, nullptr},
      {"kda", kda, {}, nullptr},
      {"kda.softplus", softplusKda, {"inputs.decay=softplus"}, nullptr},
      {"kda.lower_bound",
       boundedKda,
       {"inputs.decay=lower_bound", "inputs.lower_bound=-5"},
       nullptr},
      {"gdn2", gdn2, {}, shapeGdn2},
      {"comba", comba, {}, shapeComba},
      {"gated_oja", gatedOja, {}, shapeOja},
      {"precond_gated_delta", preconditionedDelta, {}, shapePrecond},
      {"precond_kda", preconditionedDelta, {}, shapePrecond},
      {"iplr", iplr, kRaw, shapeLowRank},
      {"dplr", dplr, kRaw, shapeLowRank},
      {"rwkv7", rwkv7, kRaw, shapeRwkv7},
      {"gated_delta_product", twoProducts, {}, nullptr},
      {"gated_delta_product3", threeProducts, {}, nullptr}};
  return rules;
}

std::string PlainRule::preset() const {
  const std::string whole = name;
  return whole.substr(0, whole.find('.'));
}

bool PlainRule::carries() const {
  return step == normalizedAttention || step == preconditionedDelta;
}

bool PlainRule::needsWholeHeads() const {
  return carries() || step == gatedOja;
}

void test::PrintTo(const PlainRule &rule, std::ostream *out) {
  *out << rule.name;
}

//===----------------------------------------------------------------------===//
// A layer
//===----------------------------------------------------------------------===//

PlainLayer::PlainLayer(const PlainRule &rule, const DecodeSpec &spec,
                       int64_t rows)
    : rule(rule), spec(spec), rows(rows),
      heads(rows * spec.heads.value,
            PlainHead(spec.heads.keyDim, spec.heads.valueDim)) {}

namespace {

/// Where the numbers of one head lie in those of a token; a layer's tensors
/// have no rows, which their size says.
struct Slice {
  size_t first, width;
};
Slice sliceOf(const std::string &name, size_t size, const DecodeSpec &spec,
              int64_t rows, int64_t row, int head) {
  const HeadShape &shape = spec.heads;
  const bool shared = hasKeyHeads(name);
  const size_t count = shared ? shape.key : shape.value;
  // Of [rows, count, width] or [count, width]: a width is 1 or a dim.
  const size_t all = size / count;
  const bool perRow = all == size_t(rows) ||
                      all == size_t(rows) * shape.keyDim ||
                      all == size_t(rows) * shape.valueDim;
  const size_t width = perRow ? all / rows : all;
  const size_t index = shared ? size_t(keyHeadOf(shape, head)) : size_t(head);
  return {((perRow ? size_t(row) * count : 0) + index) * width, width};
}

} // namespace

HeadInputs PlainLayer::inputsOf(const Token &token, int64_t row,
                                int head) const {
  HeadInputs in;
  for (const auto &[name, values] : token) {
    const Slice slice = sliceOf(name, values.size(), spec, rows, row, head);
    in[name] = Numbers(values.begin() + slice.first,
                       values.begin() + slice.first + slice.width);
  }
  return in;
}

Token PlainLayer::shaped(Token token) const {
  if (!rule.shape)
    return token;
  Token result = token;
  for (int64_t row = 0; row < rows; ++row)
    for (int head = 0; head < spec.heads.value; ++head) {
      HeadInputs in = inputsOf(token, row, head);
      rule.shape(in);
      for (const auto &[name, values] : in) {
        const Slice slice =
            sliceOf(name, token[name].size(), spec, rows, row, head);
        for (size_t i = 0; i < slice.width; ++i)
          result[name][slice.first + i] = float(values[i]);
      }
    }
  return result;
}

Numbers PlainLayer::step(const Token &token) {
  Numbers outputs;
  for (int64_t row = 0; row < rows; ++row)
    for (int head = 0; head < spec.heads.value; ++head) {
      HeadInputs in = inputsOf(token, row, head);
      if (spec.inputs.qkNorm == QkNorm::L2EpsInside)
        for (auto &[name, values] : in)
          if (hasKeyHeads(name))
            values = times(values, 1 / std::sqrt(dot(values, values) +
                                                 double(float(1e-6))));
      in["q"] = times(in["q"], float(spec.inputs.scale));
      const Numbers output =
          rule.step(heads[row * spec.heads.value + head], in);
      outputs.insert(outputs.end(), output.begin(), output.end());
    }
  return outputs;
}

Numbers PlainLayer::states() const {
  Numbers all;
  for (const PlainHead &head : heads)
    all.insert(all.end(), head.state.begin(), head.state.end());
  return all;
}

Numbers PlainLayer::carried() const {
  Numbers all;
  if (rule.carries())
    for (const PlainHead &head : heads)
      all.insert(all.end(), head.carried.begin(), head.carried.end());
  return all;
}
