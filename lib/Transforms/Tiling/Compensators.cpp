//===- Compensators.cpp - fit the new compensators ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds of subspace iteration from a fixed start Q = Q0 [value dim, r]:
//   A = orth(S Q);  Q = orth(S^T A)
// and in the end U = S Q;  S ~ U Q^T (LeapQuant's boundary has one round). U
// and Q are rounded as they will be stored, and -U, Q become the new terms.
//
// States of low rank are normal: after one token the rank is 1. A direction
// whose squared norm falls below kPivotFloor of the mean is dead and becomes
// zero; the next boundary starts from Q0 again and may revive it.
//
//===----------------------------------------------------------------------===//

#include "Compensators.h"
#include "ScaleFit.h"
#include "StochasticRounding.h"
#include "decant/Core/Numeric.h"

using namespace mlir;
using namespace decant;

namespace {

Value constantI32(LaneTile &tile, VectorType type, int32_t value) {
  return arith::ConstantOp::create(tile.b, DenseElementsAttr::get(type, value));
}

class CompensatorFit {
public:
  CompensatorFit(LaneTile &tile, StateRows &rows)
      : tile(tile), rows(rows), count(tile.layout.compensators) {}

  void run() {
    start();
    // S Q of every round and of the end are the same code, so they are rounds
    // of one loop: a third of the fit's code, and of its compile time, less.
    const int rounds = tile.layout.compensatorRounds;
    tile.loop(
        tile.index(0), tile.index(rounds + 1), 1, {},
        [&](Value round, ValueRange) -> SmallVector<Value> {
          keysFromValues();
          Value goesOn = arith::CmpIOp::create(
              tile.b, arith::CmpIPredicate::ult, round, tile.index(rounds));
          tile.ifTrue(goesOn, [&] {
            orthonormalise(tile, VectorAxis::Key, rows.termKeys, count);
            valuesFromKeys();
            orthonormalise(tile, VectorAxis::Value, rows.termValues, count);
          });
          return {};
        });
    roundTerms();
  }

private:
  void forTerms(int end, llvm::function_ref<void(Value)> body) {
    tile.loop(tile.index(0), tile.index(end), 1, {},
              [&](Value term, ValueRange) -> SmallVector<Value> {
                body(term);
                return {};
              });
  }

  /// termValues = Q0, and zero in the padding terms on both axes.
  void start() {
    forTerms(count, [&](Value term) {
      tile.storeAlong(VectorAxis::Value, rows.termValues, term,
                      startColumn(tile, term));
    });
    for (int term = count; term < rows.newTerms(); ++term) {
      tile.storeAlong(VectorAxis::Value, rows.termValues, tile.index(term),
                      tile.zeros(tile.valueType()));
      tile.storeAlong(VectorAxis::Key, rows.termKeys, tile.index(term),
                      tile.zeros(tile.keyType()));
    }
    tile.barrier();
  }

  /// termKeys = S termValues, termsPerRound() columns per pass over S.
  void keysFromValues() {
    const int chunk = rows.termsPerRound(), perRound = rows.rowsPerRound();
    tile.loop(
        tile.index(0), tile.index(rows.newTerms()), chunk, {},
        [&](Value first, ValueRange) -> SmallVector<Value> {
          SmallVector<Value> columns;
          for (int c = 0; c < chunk; ++c)
            columns.push_back(tile.loadAlong(VectorAxis::Value, rows.termValues,
                                             tile.add(first, tile.index(c))));
          rows.forRounds(
              Terms::Old, {},
              [&](Value row, ArrayRef<Value> state,
                  ValueRange) -> SmallVector<Value> {
                SmallVector<Value> partial;
                for (Value column : columns)
                  for (Value values : state)
                    partial.push_back(
                        tile.reduce(ReduceKind::Add, tile.mul(values, column)));
                Value sums = vector::FromElementsOp::create(
                    tile.b, tile.vectorOf(int64_t(partial.size())), partial);
                sums =
                    tile.laneReduce(ReduceKind::Add, sums, VectorAxis::Value);
                storeRows(first, row, sums, chunk, perRound);
                return {};
              });
          return {};
        });
    tile.barrier();
  }

  /// Element c * perRound + n of `sums` belongs to term first + c, key row + n.
  void storeRows(Value first, Value row, Value sums, int chunk, int perRound) {
    Value owner = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::eq,
                                        tile.valueLane, tile.index(0));
    tile.ifTrue(owner, [&] {
      for (int c = 0; c < chunk; ++c)
        for (int n = 0; n < perRound; ++n)
          tile.storeScalar(rows.termKeys, tile.add(first, tile.index(c)),
                           tile.add(row, tile.index(n)),
                           tile.element(sums, c * perRound + n));
    });
  }

  /// termValues = S^T termKeys.
  void valuesFromKeys() {
    const int chunk = rows.termsPerRound(), perRound = rows.rowsPerRound();
    const VectorType type = tile.valueType();
    tile.loop(tile.index(0), tile.index(rows.newTerms()), chunk, {},
              [&](Value first, ValueRange) -> SmallVector<Value> {
                SmallVector<Value> sums = rows.sumRounds(
                    Terms::Old, chunk,
                    [&](Value row, ArrayRef<Value> state, ValueRange carried) {
                      SmallVector<Value> next(carried);
                      for (int c = 0; c < chunk; ++c) {
                        Value keys = tile.load(rows.termKeys,
                                               tile.add(first, tile.index(c)),
                                               row, perRound);
                        for (int n = 0; n < perRound; ++n)
                          next[c] =
                              tile.fma(tile.splat(tile.element(keys, n), type),
                                       state[n], next[c]);
                      }
                      return next;
                    });
                for (auto [c, sum] : llvm::enumerate(sums))
                  tile.storeAlong(VectorAxis::Value, rows.termValues,
                                  tile.add(first, tile.index(c)), sum);
                return {};
              });
    tile.barrier();
  }

  /// The terms as they will be stored, the keys negated: rows with them are the
  /// residual.
  void roundTerms() {
    const bool scaled = !tile.layout.compScale.empty();
    if (scaled)
      rows.termScale = tile.scratch(1, count);
    forTerms(count, [&](Value term) {
      Value key = tile.loadAlong(VectorAxis::Key, rows.termKeys, term);
      Value value = tile.loadAlong(VectorAxis::Value, rows.termValues, term);
      Value scale;
      if (scaled) {
        scale = tile.mul(toCodes(key, VectorAxis::Key),
                         toCodes(value, VectorAxis::Value));
        tile.onFirstLane([&] {
          tile.storeScalar(*rows.termScale, tile.index(0), term, scale);
        });
      } else {
        for (Value *vector : {&key, &value})
          *vector = asStored(tile, tile.layout.compKeys.type, *vector);
      }
      tile.barrier();
      tile.storeAlong(VectorAxis::Key, rows.termKeys, term,
                      arith::NegFOp::create(tile.b, tile.scale(key, scale)));
      tile.storeAlong(VectorAxis::Value, rows.termValues, term, value);
    });
    tile.barrier();
  }

  /// Replaces a vector by its codes and returns their scale, which maps the
  /// largest element onto the largest code.
  Value toCodes(Value &vector, VectorAxis axis) {
    const ElementType type = tile.layout.compKeys.type;
    const double largest = maxFinite(type);
    Value top = tile.reduceAcross(
        ReduceKind::Max,
        tile.reduce(ReduceKind::Max, math::AbsFOp::create(tile.b, vector)),
        axis);
    Value scale = tile.mul(top, tile.f32(1 / largest));
    vector =
        asStored(tile, type, tile.scale(vector, inverseScale(tile, scale)));
    return scale;
  }

  LaneTile &tile;
  StateRows &rows;
  int count;
};

} // namespace

// A hash of (value index, column), uniform in [-1, 1). The float64 reference
// computes the same numbers (Reference/Compensator.h).
Value decant::startColumn(LaneTile &tile, Value column) {
  ImplicitLocOpBuilder &b = tile.b;
  const int64_t width = tile.valueType().getDimSize(0);
  auto type = VectorType::get({width}, b.getI32Type());
  auto spread = [&](Value index) -> Value {
    return vector::BroadcastOp::create(
        b, type, arith::IndexCastOp::create(b, b.getI32Type(), index));
  };
  SmallVector<int32_t> offsets(width);
  for (int64_t i = 0; i < width; ++i)
    offsets[i] = i;
  Value steps = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef(offsets)));
  Value v = arith::AddIOp::create(b, spread(tile.firstValue), steps);
  Value x = arith::AddIOp::create(
      b, arith::MulIOp::create(b, v, constantI32(tile, type, 16)),
      spread(column));
  x = mixBits(tile, x);
  Value real = arith::SIToFPOp::create(b, tile.valueType(), x);
  return tile.scale(real, tile.f32(0x1p-31));
}

/// Gram-Schmidt, each projection done twice: once leaves rounding errors of
/// the size of what was removed.
void decant::orthonormalise(LaneTile &tile, VectorAxis axis,
                            const View &columns, int count) {
  auto column = [&](Value term) { return tile.loadAlong(axis, columns, term); };
  Value trace = tile.loop(tile.index(0), tile.index(count), 1, {tile.f32(0)},
                          [&](Value term, ValueRange sum) {
                            Value x = column(term);
                            return SmallVector<Value>{
                                tile.add(sum[0], tile.dot(x, x, axis))};
                          })[0];
  Value floor = tile.mul(trace, tile.f32(kPivotFloor / count));
  tile.loop(tile.index(0), tile.index(count), 1, {},
            [&](Value term, ValueRange) -> SmallVector<Value> {
              Value x = column(term);
              for (int pass = 0; pass < 2; ++pass)
                x = tile.loop(tile.index(0), term, 1, {x},
                              [&](Value other, ValueRange carried) {
                                Value y = column(other);
                                Value share = arith::NegFOp::create(
                                    tile.b, tile.dot(carried[0], y, axis));
                                return SmallVector<Value>{tile.fma(
                                    tile.splat(share, tile.vectorOf(axis)), y,
                                    carried[0])};
                              })[0];
              Value norm = tile.dot(x, x, axis);
              Value alive = arith::CmpFOp::create(
                  tile.b, arith::CmpFPredicate::OGT, norm, floor);
              Value inverse = math::RsqrtOp::create(tile.b, norm);
              Value factor =
                  arith::SelectOp::create(tile.b, alive, inverse, tile.f32(0));
              // A dead direction may hold infinities: select zeros, do not
              // multiply.
              Value unit = tile.scale(x, factor);
              Value kept = arith::SelectOp::create(
                  tile.b, alive, unit, tile.zeros(tile.vectorOf(axis)));
              tile.barrier(); // the lanes of a column have read it
              tile.storeAlong(axis, columns, term, kept);
              tile.barrier();
              return {};
            });
}

Value decant::asStored(LaneTile &tile, ElementType type, Value x) {
  return isInteger(type) ? roundToCode(tile, x, -maxCode(type), maxCode(type))
                         : tile.widen(tile.narrow(x, type), type);
}

void decant::fitCompensators(LaneTile &tile, StateRows &rows) {
  CompensatorFit(tile, rows).run();
}
