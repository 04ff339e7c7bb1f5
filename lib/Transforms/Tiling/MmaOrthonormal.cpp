//===- MmaOrthonormal.cpp - orthonormal columns of a fit ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compensators.h"
#include "MmaFold.h"

using namespace mlir;
using namespace decant;

namespace {

/// Share of a column's squared norm outside the span of those before it, below
/// which a pass leaves it askew by more than about 2^-24 / this.
constexpr double kNearSpan = 0x1p-11;

int pairsOf(int rank) { return rank * (rank + 1) / 2; }

} // namespace

/// By Cholesky of their Gram matrix. One pass leaves errors of the size of the
/// matrix's condition: enough for a span, while what is stored takes a second
/// one where a column is nearly in the span of those before it. A pivot below
/// the floor is a dead direction, which becomes zero.
void MmaFold::orthonormalise(VectorAxis axis, const View &columns, int passes) {
  if (rank <= kMaxCholesky) {
    Value again =
        orthonormaliseGroup(axis, columns, rank, t.index(0), /*floor=*/{});
    if (passes > 1)
      t.ifTrue(again, [&] {
        orthonormaliseGroup(axis, columns, rank, t.index(0), /*floor=*/{});
      });
    return;
  }
  t.loop(t.index(0), t.index(passes), 1, {},
         [&](Value, ValueRange) -> SmallVector<Value> {
           orthonormaliseInGroups(axis, columns);
           return {};
         });
}

/// Columns first .. first + count - 1; `floor` is null: from their own norms.
/// Gives whether a second pass is of use.
Value MmaFold::orthonormaliseGroup(VectorAxis axis, const View &columns,
                                   int count, Value first, Value floor) {
  const int64_t mark = h.arena.mark();
  const View gram = h.arena.take(ElementType::F32, 1, pairsOf(count));
  formProducts(axis, columns, gram, pairsOf(count), [&](Value pair) {
    // Entries (i, j), j <= i, at i (i + 1) / 2 + j.
    Value i = t.index(0), start = t.index(0);
    for (int row = 1; row < count; ++row) {
      Value below = arith::CmpIOp::create(t.b, arith::CmpIPredicate::uge, pair,
                                          t.index(pairsOf(row)));
      i = arith::SelectOp::create(t.b, below, t.index(row), i);
      start = arith::SelectOp::create(t.b, below, t.index(pairsOf(row)), start);
    }
    Value j = arith::SubIOp::create(t.b, pair, start);
    return std::pair(t.add(first, i), t.add(first, j));
  });
  t.barrier();
  Value again = choleskyPass(axis, columns, gram, count, first, floor);
  t.barrier();
  h.arena.reset(mark);
  return again;
}

/// A factor of more columns does not fit into registers: each eight of them are
/// made orthogonal to those before, then among themselves. The floor is that of
/// all columns.
void MmaFold::orthonormaliseInGroups(VectorAxis axis, const View &columns) {
  const int64_t mark = h.arena.mark();
  const View norms = h.arena.take(ElementType::F32, 1, rank);
  formProducts(axis, columns, norms, rank,
               [&](Value column) { return std::pair(column, column); });
  t.barrier();
  t.loop(t.index(0), t.index(llvm::divideCeil(rank, kMaxCholesky)), 1, {},
         [&](Value group, ValueRange) -> SmallVector<Value> {
           Value first = t.mul(group, t.index(kMaxCholesky));
           t.loop(t.index(0), first, kMaxCholesky, {},
                  [&](Value before, ValueRange) -> SmallVector<Value> {
                    project(axis, columns, before, first);
                    return {};
                  });
           Value trace = t.f32(0);
           for (int i = 0; i < rank; ++i)
             trace = t.add(trace, t.loadScalar(norms, t.index(0), t.index(i)));
           orthonormaliseGroup(axis, columns, kMaxCholesky, first,
                               t.mul(trace, t.f32(kPivotFloor / rank)));
           return {};
         });
  h.arena.reset(mark);
}

/// Takes out of eight columns what lies in the span of eight before them.
void MmaFold::project(VectorAxis axis, const View &columns, Value before,
                      Value first) {
  constexpr int kCount = kMaxCholesky;
  const int64_t mark = h.arena.mark();
  const View shares = h.arena.take(ElementType::F32, 1, kCount * kCount);
  formProducts(axis, columns, shares, kCount * kCount, [&](Value pair) {
    Value i = arith::DivUIOp::create(t.b, pair, t.index(kCount));
    Value j = arith::RemUIOp::create(t.b, pair, t.index(kCount));
    return std::pair(t.add(first, i), t.add(before, j));
  });
  t.barrier();
  warp.forElements(dimOf(axis), [&](Value element, Value inside) {
    SmallVector<Value> basis;
    for (int j = 0; j < kCount; ++j)
      basis.push_back(
          t.loadScalar(columns, t.add(before, t.index(j)), element));
    t.ifTrue(inside, [&] {
      t.loop(t.index(0), t.index(kCount), 1, {},
             [&](Value i, ValueRange) -> SmallVector<Value> {
               Value row = t.add(first, i);
               Value x = t.loadScalar(columns, row, element);
               Value own = t.load(shares, t.index(0), t.mul(i, t.index(kCount)),
                                  kCount);
               for (int j = 0; j < kCount; ++j)
                 x = math::FmaOp::create(
                     t.b, arith::NegFOp::create(t.b, t.element(own, j)),
                     basis[j], x);
               t.storeScalar(columns, row, element, x);
               return {};
             });
    });
  });
  t.barrier();
  h.arena.reset(mark);
}

/// out[p] = product of the columns that `columnsOf` gives for p, of `count`;
/// each warp sums its share, some of them at a time.
void MmaFold::formProducts(VectorAxis axis, const View &columns,
                           const View &out, int count, ColumnsOf columnsOf) {
  constexpr int kTogether = 9; // all of 36 by four warps
  const int each = llvm::divideCeil(count, warp.warps);
  for (int first = 0; first < each; first += kTogether) {
    SmallVector<Value> own, sums;
    for (int n = first; n < std::min(each, first + kTogether); ++n) {
      Value place = t.add(t.index(n * warp.warps), t.valueLane);
      if ((n + 1) * warp.warps > count) // others repeat the last
        place = arith::MinUIOp::create(t.b, place, t.index(count - 1));
      own.push_back(place);
      const auto [i, j] = columnsOf(place);
      sums.push_back(product(axis, columns, i, j));
    }
    Value all = t.laneReduce(ReduceKind::Add,
                             vector::FromElementsOp::create(
                                 t.b, t.vectorOf(int64_t(sums.size())), sums),
                             VectorAxis::Key);
    t.ifTrue(warp.equal(t.keyLane, 0), [&] {
      for (auto [n, place] : llvm::enumerate(own))
        t.storeScalar(out, t.index(0), place, t.element(all, n));
    });
  }
}

/// The lane's part of a sum over the dim.
Value MmaFold::product(VectorAxis axis, const View &columns, Value i, Value j) {
  const int dim = dimOf(axis);
  constexpr int kWarp = 32;
  const int width = dim % (4 * kWarp) == 0 ? 4 : dim % (2 * kWarp) == 0 ? 2 : 1;
  const VectorType part = t.vectorOf(int64_t(width));
  Value sum = t.zeros(part);
  for (int element = 0; element < dim; element += kWarp * width) {
    Value at = t.add(t.mul(t.keyLane, t.index(width)), t.index(element));
    Value inside;
    if (element + kWarp * width > dim) {
      inside = warp.less(at, t.index(dim));
      at = arith::MinUIOp::create(t.b, at, t.index(dim - 1));
    }
    Value x = t.load(columns, i, at, width);
    if (inside)
      x = arith::SelectOp::create(t.b, inside, x, t.zeros(part));
    sum = t.fma(x, t.load(columns, j, at, width), sum);
  }
  return t.reduce(ReduceKind::Add, sum);
}

Value MmaFold::choleskyPass(VectorAxis axis, const View &columns,
                            const View &gram, int rank, Value first,
                            Value floor) {
  const int dim = dimOf(axis);
  auto entry = [&](int i, int j) {
    return t.loadScalar(gram, t.index(0), t.index(pairsOf(i) + j));
  };
  if (!floor) {
    Value trace = t.f32(0);
    for (int i = 0; i < rank; ++i)
      trace = t.add(trace, entry(i, i));
    floor = t.mul(trace, t.f32(kPivotFloor / rank));
  }
  SmallVector<SmallVector<Value>> lower(rank);
  SmallVector<Value> inverse, alive;
  Value again = arith::ConstantIntOp::create(t.b, 0, /*width=*/1);
  auto minusProduct = [&](Value x, Value y, Value z) {
    return math::FmaOp::create(t.b, arith::NegFOp::create(t.b, x), y, z)
        .getResult();
  };
  for (int i = 0; i < rank; ++i) {
    for (int j = 0; j < i; ++j) {
      Value x = entry(i, j);
      for (int k = 0; k < j; ++k)
        x = minusProduct(lower[i][k], lower[j][k], x);
      lower[i].push_back(t.mul(x, inverse[j]));
    }
    Value pivot = entry(i, i);
    for (int k = 0; k < i; ++k)
      pivot = minusProduct(lower[i][k], lower[i][k], pivot);
    alive.push_back(
        arith::CmpFOp::create(t.b, arith::CmpFPredicate::OGT, pivot, floor));
    Value near = arith::CmpFOp::create(t.b, arith::CmpFPredicate::OLT, pivot,
                                       t.mul(entry(i, i), t.f32(kNearSpan)));
    again = arith::OrIOp::create(t.b, again,
                                 arith::AndIOp::create(t.b, alive[i], near));
    Value safe = arith::SelectOp::create(t.b, alive[i], pivot, t.f32(1));
    inverse.push_back(arith::SelectOp::create(
        t.b, alive[i], math::RsqrtOp::create(t.b, safe), t.f32(0)));
  }
  warp.forElements(dim, [&](Value element, Value inside) {
    SmallVector<Value> x;
    for (int i = 0; i < rank; ++i)
      x.push_back(t.loadScalar(columns, t.add(first, t.index(i)), element));
    for (int i = 0; i < rank; ++i) {
      for (int k = 0; k < i; ++k)
        x[i] = minusProduct(lower[i][k], x[k], x[i]);
      // A dead direction may hold anything: select zero, do not multiply.
      x[i] = arith::SelectOp::create(t.b, alive[i], t.mul(x[i], inverse[i]),
                                     t.f32(0));
    }
    t.ifTrue(inside, [&] {
      for (int i = 0; i < rank; ++i)
        t.storeScalar(columns, t.add(first, t.index(i)), element, x[i]);
    });
  });
  return again;
}
