//===- MmaFit.cpp - the compensators of a fold
//-----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds of subspace iteration from a fixed start, S Q0 -> Q, S^T Q -> A, and
// in the end B = S A. A product has eight vectors as its columns, as f16: the
// residual is formed from what is stored, so that errors of a fit cost a little
// of its quality and nothing else.
//
//===----------------------------------------------------------------------===//

#include "Compensators.h"
#include "MmaFold.h"
#include "ScaleFit.h"
#include "decant/Core/Numeric.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr int kColumns = 8;
/// Cholesky is written out, for as many columns at once.
constexpr int kMaxCholesky = 8;
/// Share of a column's squared norm outside the span of those before it, below
/// which a pass leaves it askew by more than about 2^-24 / this.
constexpr double kNearSpan = 0x1p-11;

int pairsOf(int rank) { return rank * (rank + 1) / 2; }

} // namespace

/// One panel is, in turn, Q0, S Q0 made orthonormal, A = S^T of that made
/// orthonormal, which takes Q0's place for further rounds, and S A: a product
/// has read its columns before it writes any.
void MmaFold::fitTerms() {
  Arena &arena = h.arena;
  const int64_t mark = arena.mark();
  const int longest = std::max(layout.paddedKey, layout.paddedValue);
  const int all =
      rank <= kMaxCholesky ? rank : int(llvm::alignTo(rank, kMaxCholesky));
  const View columns = arena.take(ElementType::F32, all, longest);
  for (int r = rank; r < all; ++r) // dead directions
    warp.forElements(longest, [&](Value element, Value inside) {
      t.ifTrue(inside,
               [&] { t.storeScalar(columns, t.index(r), element, t.f32(0)); });
    });
  for (int r = 0; r < rank; ++r)
    t.storeAlong(VectorAxis::Value, columns, t.index(r),
                 startColumn(t, t.index(r)));
  if (h.scalesTerms())
    codeScale = arena.take(ElementType::F32, 2, rank);
  t.barrier();
  // S Q of all rounds and S A are the same code: rounds of one loop.
  const int rounds = layout.compensatorRounds;
  t.loop(t.index(0), t.index(rounds + 1), 1, {},
         [&](Value round, ValueRange) -> SmallVector<Value> {
           multiply(VectorAxis::Value, columns, columns);
           t.ifTrue(warp.less(round, t.index(rounds)), [&] {
             orthonormalise(VectorAxis::Key, columns, /*passes=*/1);
             multiply(VectorAxis::Key, columns, columns);
             orthonormalise(VectorAxis::Value, columns, /*passes=*/2);
             // The new terms' keys are still zero, and so are the terms. Of
             // several rounds, the last one's stay.
             storeTerms(VectorAxis::Value, columns);
           });
           return {};
         });
  storeTerms(VectorAxis::Key, columns);
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
    Value factor = t.mul(power(axis).factor, t.f32(1 / warp.codeUnit()));
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

/// The last sum is what the bias has added to each of the others.
SmallVector<Value> MmaFold::withoutBias(ArrayRef<Value> sums) {
  SmallVector<Value> products;
  for (Value sum : sums.drop_back())
    products.push_back(warp.codeBias() == 0 ? sum : t.add(sum, sums.back()));
  return products;
}

//===--- orthonormal columns ----------------------------------------------===//

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

/// What a fitted term's elements over `codeScale` become: codes of bytes.
void MmaFold::scaleCodes(VectorAxis axis, const View &fitted) {
  const int64_t mark = h.arena.mark();
  const View partial = h.arena.take(ElementType::F32, warp.warps, rank);
  SmallVector<Value> sizes(rank);
  warp.forElements(dimOf(axis), [&](Value element, Value) {
    for (int r = 0; r < rank; ++r) {
      Value size =
          math::AbsFOp::create(t.b, t.loadScalar(fitted, t.index(r), element));
      sizes[r] =
          sizes[r] ? arith::MaxNumFOp::create(t.b, sizes[r], size) : size;
    }
  });
  Value all = warp.blockReduce(
      ReduceKind::Max,
      vector::FromElementsOp::create(t.b, t.vectorOf(int64_t(rank)), sizes),
      partial);
  const double largestCode = maxFinite(layout.compKeys.type);
  t.ifTrue(warp.equal(warp.thread, 0), [&] {
    warp.storeRaw(codeScale, t.index(int(axis)), t.index(0),
                  t.scale(all, t.f32(1 / largestCode)));
  });
  t.barrier();
  h.arena.reset(mark);
}

/// The fitted terms to the slot and to the panel, keys negated. Of bytes, which
/// are stored as codes, the panel has the values over a power of two and the
/// keys under the scale of both, which follow the values.
void MmaFold::storeTerms(VectorAxis axis, const View &fitted) {
  const bool keys = axis == VectorAxis::Key, scales = h.scalesTerms();
  const View &stored = keys ? h.head.compKeys : h.head.compValues;
  const ElementType type = layout.compKeys.type;
  if (scales)
    scaleCodes(axis, fitted);
  auto scaleAlong = [&](VectorAxis of, Value term) {
    return t.loadScalar(codeScale, t.index(int(of)), term);
  };
  auto scaleOfBoth = [&](Value term) {
    return t.mul(scaleAlong(VectorAxis::Key, term),
                 scaleAlong(VectorAxis::Value, term));
  };
  warp.forElements(dimOf(axis), [&](Value element, Value inside) {
    Value place = placeInSlot(axis, element);
    t.ifTrue(inside, [&] {
      for (int r = 0; r < rank; ++r) {
        Value term = t.index(r);
        Value x = t.loadScalar(fitted, term, element);
        if (scales)
          x = asStored(t, type,
                       t.mul(x, inverseScale(t, scaleAlong(axis, term))));
        t.storeScalar(stored, term, place, x);
        if (scales)
          x = t.mul(x, keys ? t.mul(scaleOfBoth(term), t.f32(powerAbove(type)))
                            : t.f32(1 / powerAbove(type)));
        t.storeScalar(termsOf(axis), t.index(firstNew + r), element,
                      keys ? arith::NegFOp::create(t.b, x).getResult() : x);
      }
    });
  });
  if (scales && keys)
    warp.forElements(rank, [&](Value term, Value inside) {
      t.ifTrue(inside, [&] {
        t.storeScalar(h.head.compScale, t.index(0), term, scaleOfBoth(term));
      });
    });
}
