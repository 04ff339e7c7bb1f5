//===- MmaFit.cpp - the compensators of a fold ----------------------------===//
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

static constexpr int kColumns = 8;

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
