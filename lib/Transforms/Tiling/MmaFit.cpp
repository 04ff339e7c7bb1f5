//===- MmaFit.cpp - the compensators of a fold
//-----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One round of subspace iteration from a fixed start, S Q0 -> Q, S^T Q -> A,
// B = S A. A product has eight vectors as its columns, as f16: the residual is
// formed from what is stored, so that errors of a fit cost a little of its
// quality and nothing else.
//
//===----------------------------------------------------------------------===//

#include "Compensators.h"
#include "MmaFold.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr int kColumns = 8;
/// Cholesky is written out; larger ranks take Gram-Schmidt in loops.
constexpr int kMaxCholesky = 8;

int pairsOf(int rank) { return rank * (rank + 1) / 2; }

} // namespace

/// One panel is, in turn, Q0, S Q0 made orthonormal, A = S^T of that made
/// orthonormal, and S A: a product has read its columns before it writes any.
void MmaFold::fitTerms() {
  Arena &arena = h.arena;
  const int64_t mark = arena.mark();
  const View columns = arena.take(
      ElementType::F32, rank, std::max(layout.paddedKey, layout.paddedValue));
  for (int r = 0; r < rank; ++r)
    t.storeAlong(VectorAxis::Value, columns, t.index(r),
                 startColumn(t, t.index(r)));
  t.barrier();
  // S Q0 and S A are the same code: two rounds of one loop.
  t.loop(t.index(0), t.index(2), 1, {},
         [&](Value round, ValueRange) -> SmallVector<Value> {
           multiply(VectorAxis::Value, columns, columns);
           t.ifTrue(warp.equal(round, 0), [&] {
             orthonormalise(VectorAxis::Key, columns, /*passes=*/1);
             multiply(VectorAxis::Key, columns, columns);
             orthonormalise(VectorAxis::Value, columns, /*passes=*/2);
             // The new terms' keys are still zero, and so are the terms.
             storeTerms(VectorAxis::Value, columns, h.head.compValues,
                        /*negate=*/false);
           });
           return {};
         });
  storeTerms(VectorAxis::Key, columns, h.head.compKeys, /*negate=*/true);
  t.barrier();
  arena.reset(mark);
}

//===--- products with the state ------------------------------------------===//

void MmaFold::multiply(VectorAxis axis, const View &from, const View &to) {
  for (int first = 0; first < rank; first += kColumns)
    multiplyGroup(axis, from, to, first, std::min(kColumns, rank - first));
}

void MmaFold::multiplyGroup(VectorAxis axis, const View &from, const View &to,
                            int first, int count) {
  Arena &arena = h.arena;
  const int64_t mark = arena.mark();
  const int dim = dimOf(axis);
  const View folded = arena.take(warp.halfType(), count, dim + 8);
  const View plain = arena.take(h.termType, count, dim + 8);
  Value toRange = power(axis).inverse;
  warp.forElements(dim, [&](Value element, Value inside) {
    t.ifTrue(inside, [&] {
      Value scale =
          t.mul(t.loadScalar(scaleOf(axis), t.index(0), element), toRange);
      for (int c = 0; c < count; ++c) { // of size 1 at most
        Value x = t.loadScalar(from, t.index(first + c), element);
        const Value at[] = {t.index(c), element};
        memref::StoreOp::create(t.b, warp.halves(t.mul(x, scale), folded.type),
                                folded.memref, at);
        memref::StoreOp::create(t.b, warp.halves(x, plain.type), plain.memref,
                                at);
      }
    });
  });
  t.barrier();
  SmallVector<Value> ofKeys;
  const MmaHead::Scores scores = h.scoreTerms(
      termsOf(axis), dim / kTile, plain, count, MmaHead::Columns::Plain, [&] {
        if (axis == VectorAxis::Key)
          ofKeys = overKeys(folded, count);
      });
  const VectorAxis onto = other(axis);
  /// A lane has columns 2t and 2t + 1 of elements g and g + 8.
  auto store = [&](Value element, Value product) {
    Value terms = h.sumTerms(scores, termsOf(onto), element);
    Value factor = power(axis).factor;
    t.ifTrue(warp.less(warp.pair, t.index(count)), [&] {
      for (int half = 0; half < 2; ++half) {
        Value at = t.add(t.add(element, warp.group), t.index(8 * half));
        Value scale =
            t.mul(t.loadScalar(scaleOf(onto), t.index(0), at), factor);
        for (int j = 0; j < std::min(2, count); ++j) {
          Value sum = t.mul(t.element(terms, 2 * half + j),
                            t.element(scores.factor, j));
          sum = math::FmaOp::create(t.b, t.element(product, 2 * half + j),
                                    scale, sum);
          Value column = t.add(warp.pair, t.index(first + j));
          if (count % 2 != 0) // the last lane's second is the column before
            column =
                arith::MinUIOp::create(t.b, column, t.index(first + count - 1));
          t.storeScalar(to, column, at, sum);
        }
      }
    });
  };
  if (axis == VectorAxis::Key)
    for (auto [i, product] : llvm::enumerate(ofKeys))
      store(t.mul(warp.ownValueTile(i), t.index(kTile)), product);
  else
    t.loop(t.index(0), t.index(chunkRounds()), 1, {},
           [&](Value round, ValueRange) -> SmallVector<Value> {
             Value c = ownChunk(round);
             auto products = overValues(folded, count, c);
             for (auto [n, product] : llvm::enumerate(products))
               store(t.mul(keyTile(c, n), t.index(kTile)), product);
             return {};
           });
  t.barrier();
  arena.reset(mark);
}

/// Of the own value tiles.
SmallVector<Value> MmaFold::overKeys(const View &columns, int count) {
  SmallVector<Value> initial(warp.valueTilesPerWarp + 1, warp.zeroSum());
  SmallVector<Value> sums = overOwnTiles(
      initial, [&](ArrayRef<Value> chunks, Value c, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value key = t.mul(c, t.index(warp.tilesPerChunk * kTile));
        const SmallVector<Value> right =
            warp.rightOfFirst(columns, count, key, warp.tilesPerChunk);
        for (int n = 0; n < warp.tilesPerChunk; ++n) {
          for (auto [i, chunk] : llvm::enumerate(chunks))
            next[i] =
                warp.codesMma(chunk, n, /*transpose=*/false, right[n], next[i]);
          next.back() = warp.biasMma(right[n], next.back());
        }
        return next;
      });
  return withoutBias(sums);
}

/// Of the key tiles of chunk `c`.
SmallVector<Value> MmaFold::overValues(const View &columns, int count,
                                       Value c) {
  SmallVector<Value> initial(warp.tilesPerChunk + 1, warp.zeroSum());
  SmallVector<Value> sums = overValueTiles(
      [&](Value tile) { return warp.loadChunk(h.readableCodes(), tile, c); },
      initial,
      [&](Value chunk, Value tile, ValueRange carried) {
        SmallVector<Value> next(carried);
        Value right =
            warp.rightOfFirst(columns, count, t.mul(tile, t.index(kTile)))[0];
        for (int n = 0; n < warp.tilesPerChunk; ++n)
          next[n] = warp.codesMma(chunk, n, /*transpose=*/true, right, next[n]);
        next.back() = warp.biasMma(right, next.back());
        return next;
      },
      /*ahead=*/32);
  return withoutBias(sums);
}

/// The last sum is what the bias has added to each of the others: as large as
/// 2^10 of them, whose last bits a fit can do without.
SmallVector<Value> MmaFold::withoutBias(ArrayRef<Value> sums) {
  SmallVector<Value> products;
  for (Value sum : sums.drop_back())
    products.push_back(warp.codeBias() == 0 ? sum : t.add(sum, sums.back()));
  return products;
}

//===--- orthonormal columns ----------------------------------------------===//

/// By Cholesky of their Gram matrix. One pass leaves errors of the size of the
/// matrix's condition: enough for a span, while what is stored takes two. A
/// pivot below the floor is a dead direction, which becomes zero.
void MmaFold::orthonormalise(VectorAxis axis, const View &columns, int passes) {
  if (rank > kMaxCholesky)
    return decant::orthonormalise(t, axis, columns, rank);
  const int64_t mark = h.arena.mark();
  const View gram = h.arena.take(ElementType::F32, 1, pairsOf(rank));
  for (int pass = 0; pass < passes; ++pass) {
    formGram(axis, columns, gram);
    t.barrier();
    choleskyPass(axis, columns, gram);
    t.barrier();
  }
  h.arena.reset(mark);
}

/// Entries (i, j), j <= i, at i (i + 1) / 2 + j; each warp sums its share, some
/// entries at a time.
void MmaFold::formGram(VectorAxis axis, const View &columns, const View &gram) {
  constexpr int kTogether = 9; // all of 36 by four warps
  const int pairs = pairsOf(rank), each = llvm::divideCeil(pairs, warp.warps);
  for (int first = 0; first < each; first += kTogether) {
    SmallVector<Value> own, sums;
    for (int n = first; n < std::min(each, first + kTogether); ++n) {
      Value pair = t.add(t.index(n * warp.warps), t.valueLane);
      if ((n + 1) * warp.warps > pairs) // others repeat the last
        pair = arith::MinUIOp::create(t.b, pair, t.index(pairs - 1));
      own.push_back(pair);
      sums.push_back(gramEntry(axis, columns, pair));
    }
    Value all = t.laneReduce(ReduceKind::Add,
                             vector::FromElementsOp::create(
                                 t.b, t.vectorOf(int64_t(sums.size())), sums),
                             VectorAxis::Key);
    t.ifTrue(warp.equal(t.keyLane, 0), [&] {
      for (auto [n, pair] : llvm::enumerate(own))
        t.storeScalar(gram, t.index(0), pair, t.element(all, n));
    });
  }
}

/// The lane's part of a sum over the dim.
Value MmaFold::gramEntry(VectorAxis axis, const View &columns, Value pair) {
  const int dim = dimOf(axis);
  constexpr int kWarp = 32;
  const int width = dim % (4 * kWarp) == 0 ? 4 : dim % (2 * kWarp) == 0 ? 2 : 1;
  const VectorType part = t.vectorOf(int64_t(width));
  Value i = t.index(0), start = t.index(0);
  for (int row = 1; row < rank; ++row) {
    Value below = arith::CmpIOp::create(t.b, arith::CmpIPredicate::uge, pair,
                                        t.index(pairsOf(row)));
    i = arith::SelectOp::create(t.b, below, t.index(row), i);
    start = arith::SelectOp::create(t.b, below, t.index(pairsOf(row)), start);
  }
  Value j = arith::SubIOp::create(t.b, pair, start);
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

void MmaFold::choleskyPass(VectorAxis axis, const View &columns,
                           const View &gram) {
  const int dim = dimOf(axis);
  auto entry = [&](int i, int j) {
    return t.loadScalar(gram, t.index(0), t.index(pairsOf(i) + j));
  };
  Value trace = t.f32(0);
  for (int i = 0; i < rank; ++i)
    trace = t.add(trace, entry(i, i));
  Value floor = t.mul(trace, t.f32(kPivotFloor / rank));
  SmallVector<SmallVector<Value>> lower(rank);
  SmallVector<Value> inverse, alive;
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
    Value safe = arith::SelectOp::create(t.b, alive[i], pivot, t.f32(1));
    inverse.push_back(arith::SelectOp::create(
        t.b, alive[i], math::RsqrtOp::create(t.b, safe), t.f32(0)));
  }
  warp.forElements(dim, [&](Value element, Value inside) {
    SmallVector<Value> x;
    for (int i = 0; i < rank; ++i)
      x.push_back(t.loadScalar(columns, t.index(i), element));
    for (int i = 0; i < rank; ++i) {
      for (int k = 0; k < i; ++k)
        x[i] = minusProduct(lower[i][k], x[k], x[i]);
      // A dead direction may hold anything: select zero, do not multiply.
      x[i] = arith::SelectOp::create(t.b, alive[i], t.mul(x[i], inverse[i]),
                                     t.f32(0));
    }
    t.ifTrue(inside, [&] {
      for (int i = 0; i < rank; ++i)
        t.storeScalar(columns, t.index(i), element, x[i]);
    });
  });
}

/// The fitted terms as f16, to the slot and to the panel.
void MmaFold::storeTerms(VectorAxis axis, const View &fitted,
                         const View &stored, bool negate) {
  warp.forElements(dimOf(axis), [&](Value element, Value inside) {
    t.ifTrue(inside, [&] {
      for (int r = 0; r < rank; ++r) {
        Value x = t.loadScalar(fitted, t.index(r), element);
        t.storeScalar(stored, t.index(r), element, x);
        t.storeScalar(termsOf(axis), t.index(firstNew + r), element,
                      negate ? arith::NegFOp::create(t.b, x).getResult() : x);
      }
    });
  });
}
