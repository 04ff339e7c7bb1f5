//===- MmaRead.cpp - vectors times the state on tensor cores --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaHead.h"

#include "Core/ScheduleParts.h"

using namespace mlir;
using namespace decant;

/// Tiles of elements: 128.
static constexpr int kLeastShared = 8;

/// Whether each warp takes a share of the elements that a score sums over. For
/// few elements, bringing the sums together costs more than it saves.
bool MmaHead::sharesScores(int dimTiles) const {
  return warp.warps > 1 && dimTiles >= kLeastShared &&
         dimTiles % warp.warps == 0;
}

/// The warp's share of the products of terms and columns: per eight terms, what
/// a lane has of one of them, one column (Parts: high part and rest together)
/// or two.
SmallVector<Value> MmaHead::termProducts(const View &terms, int dimTiles,
                                         const View &columns, int count,
                                         Columns kind, const Scores &rows) {
  const bool parts = kind == Columns::Parts;
  const int rowTiles = llvm::divideCeil(rows.endRow - rows.firstRow, kTile);
  const int share = sharesScores(dimTiles) ? dimTiles / warp.warps : dimTiles;
  Value first = t.index(0);
  if (share < dimTiles)
    first = t.mul(t.valueLane, t.index(share * kTile));
  SmallVector<Value> sums(rowTiles, warp.zeroSum());
  for (int k = 0; k < share; k += 2) {
    Value at = t.add(first, t.index(k * kTile));
    const SmallVector<Value> right = warp.rightOfFirst(
        columns, parts ? 2 * count : count, at, std::min(2, share - k));
    for (auto [n, operand] : llvm::enumerate(right))
      for (int i = 0; i < rowTiles; ++i) {
        Value row = t.index(rows.firstRow + i * kTile);
        Value element = t.add(at, t.index(int64_t(n) * kTile));
        sums[i] =
            warp.mma(warp.left(terms, allRows, row, element), operand, sums[i]);
      }
  }
  SmallVector<Value> products;
  for (auto [i, sum] : llvm::enumerate(sums))
    for (int half = 0; half < 2; ++half) {
      if (rows.firstRow + int(i) * kTile + 8 * half >= rows.endRow)
        break;
      Value product = warp.slice(sum, 2 * half, 2);
      if (parts)
        product = t.add(t.element(product, 0), t.element(product, 1));
      products.push_back(product);
    }
  return products;
}

/// Sums of what the warps have, in the order of the warps. `columns` of the
/// products are of use; lanes of the others get the last one's.
SmallVector<Value> MmaHead::sumOverWarps(ArrayRef<Value> products, int columns,
                                         bool parts,
                                         llvm::function_ref<void()> meanwhile) {
  const int perTerm = 8 * columns;
  // Some where a fit's terms will be.
  const int64_t count = products.size();
  // Those of a long window would take more memory than all else that a fit
  // needs, so they come one part after the other.
  if (!parts && count > kProductsTogether) {
    SmallVector<Value> sums;
    const int64_t mark = arena.mark();
    for (int64_t first = 0; first < count; first += kProductsTogether) {
      if (first > 0) {
        t.barrier(); // the part before has been read
        arena.reset(mark);
      }
      auto none = [] {};
      sums.append(sumOverWarps(
          products.slice(first,
                         std::min<int64_t>(kProductsTogether, count - first)),
          columns, parts, first == 0 ? meanwhile : none));
    }
    return sums;
  }
  const int64_t bytes = int64_t(warp.warps) * perTerm * 4;
  const int64_t lent = parts ? 0 : std::min(count, unusedTermBytes() / bytes);
  View partial[2]; // of the first `lent` products, of the rest
  if (lent > 0) {
    const int64_t mark = arena.mark();
    arena.reset(unusedTerms);
    partial[0] = arena.take(ElementType::F32, warp.warps, lent * perTerm);
    arena.reset(mark);
  }
  if (lent < count)
    partial[1] =
        arena.take(ElementType::F32, warp.warps, (count - lent) * perTerm);
  auto placeOf = [&](int64_t i) -> std::pair<const View &, int64_t> {
    return {partial[i >= lent], (i >= lent ? i - lent : i) * perTerm};
  };
  const int64_t width = parts ? 1 : 2;
  Value column =
      parts ? arith::DivUIOp::create(t.b, warp.pair, t.index(2)) : warp.pair;
  Value own =
      columns < 4 * width ? warp.less(column, t.index(columns)) : Value();
  Value at = t.add(t.mul(warp.group, t.index(columns)), column);
  t.ifTrue(own, [&] {
    for (auto [i, product] : llvm::enumerate(products)) {
      auto [view, first] = placeOf(i);
      Value place = t.add(at, t.index(first));
      if (parts)
        t.storeScalar(view, t.valueLane, place, product);
      else
        warp.storeRaw(view, t.valueLane, place, product);
    }
  });
  meanwhile();
  t.barrier();
  if (own)
    column = arith::MinUIOp::create(t.b, column, t.index(columns - width));
  at = t.add(t.mul(warp.group, t.index(columns)), column);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < count; ++i) {
    auto [view, first] = placeOf(i);
    Value place = t.add(at, t.index(first)), sum;
    for (int w = 0; w < warp.warps; ++w) {
      Value part = parts ? t.loadScalar(view, t.index(w), place)
                         : warp.raw(view, t.index(w), place, width);
      sum = sum ? t.add(sum, part) : part;
    }
    sums.push_back(sum);
  }
  return sums;
}

/// Of keys that a fit stores in the end and that no product before takes.
int64_t MmaHead::unusedTermBytes() const {
  const int rows =
      readRows + layout.compensators - int(llvm::alignTo(readRows, 8));
  return use.folds && rows > 0 ? rows * termKeys.width * 2 : 0;
}

MmaHead::Scores MmaHead::scoreTerms(const View &terms, int dimTiles,
                                    const View &columns, int count,
                                    Columns kind,
                                    llvm::function_ref<void()> meanwhile) {
  Scores result;
  result.firstRow = kind == Columns::Parts ? firstRead : 0;
  result.endRow =
      kind == Columns::Parts ? readEnd : int(llvm::alignTo(readRows, 8));
  const bool parts = kind == Columns::Parts;
  SmallVector<Value> scores =
      termProducts(terms, dimTiles, columns, count, kind, result);
  if (sharesScores(dimTiles)) {
    scores = sumOverWarps(scores, parts ? count : int(llvm::alignTo(count, 2)),
                          parts, meanwhile);
  } else {
    meanwhile();
  }
  Value largest;
  for (auto [i, score] : llvm::enumerate(scores)) {
    if (parts) {
      Value term = t.add(warp.group, t.index(result.firstRow + 8 * int(i)));
      score = t.mul(score, t.loadScalar(weights, t.index(0), term));
    }
    Value size = math::AbsFOp::create(t.b, score);
    largest = largest ? arith::MaxNumFOp::create(t.b, largest, size) : size;
  }
  largest = warp.reduceLanes(ReduceKind::Max, largest, 4, 32);
  Value inverse;
  if (parts) {
    const WarpTile::PowerOfTwo power = warp.powerOfTwo(largest);
    result.factor = power.factor;
    inverse = power.inverse;
  } else {
    SmallVector<Value> factors, inverses;
    for (int j = 0; j < 2; ++j) {
      const WarpTile::PowerOfTwo power = warp.powerOfTwo(t.element(largest, j));
      factors.push_back(power.factor);
      inverses.push_back(power.inverse);
    }
    const VectorType two = t.vectorOf(int64_t(2));
    result.factor = vector::FromElementsOp::create(t.b, two, factors);
    inverse = vector::FromElementsOp::create(t.b, two, inverses);
  }
  auto type = VectorType::get({2}, toType(t.b.getContext(), termType));
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value scaled = t.mul(score, inverse);
    if (parts) {
      auto [high, rest] = warp.split(scaled, termType);
      scaled =
          vector::FromElementsOp::create(t.b, type, ValueRange{high, rest});
    } else {
      scaled = warp.halves(scaled, termType);
    }
    Value turned = TransposeOp::create(t.b, type, scaled);
    if (i % 2 == 0)
      result.operands.push_back(turned);
    else
      result.operands.back() = warp.join(result.operands.back(), turned);
  }
  return result;
}

Value MmaHead::sumTerms(const Scores &scores, const View &terms,
                        Value firstElement) {
  Value sum = warp.zeroSum();
  for (auto [i, operand] : llvm::enumerate(scores.operands)) {
    const int row = scores.firstRow + i * kTile;
    Value left =
        warp.leftTransposed(terms, std::min(kTile, scores.endRow - row),
                            t.index(row), firstElement);
    sum = warp.mma(left, operand, sum);
  }
  return sum;
}

SmallVector<Value> MmaHead::loadChunks(Value c) {
  SmallVector<Value> chunks;
  for (int i = 0; i < warp.valueTilesPerWarp; ++i)
    chunks.push_back(warp.loadChunk(readableCodes(), warp.ownValueTile(i), c));
  return chunks;
}

SmallVector<Value> MmaHead::codesProduct(const View &columns, int count) {
  const int tiles = warp.valueTilesPerWarp;
  auto rightOf = [&](Value c) {
    return warp.rightOfFirst(columns, 2 * count,
                             t.mul(c, t.index(warp.tilesPerChunk * kTile)),
                             warp.tilesPerChunk);
  };
  const bool rolled = slabs || tiles * warp.chunks > kMaxChunksInFlight;
  // Products start from what takes the bias off, which needs no codes.
  SmallVector<SmallVector<Value>> rights; // [chunk] unless rolled
  Value start = warp.zeroSum();
  auto addBias = [&](ArrayRef<Value> right, Value sum) {
    for (Value operand : right)
      sum = warp.biasMma(operand, sum);
    return sum;
  };
  if (rolled)
    start = t.loop(t.index(0), t.index(warp.chunks), 1, {start},
                   [&](Value c, ValueRange carried) -> SmallVector<Value> {
                     return {addBias(rightOf(c), carried[0])};
                   })[0];
  for (int c = 0; c < warp.chunks && !rolled; ++c) {
    rights.push_back(rightOf(t.index(c)));
    start = addBias(rights.back(), start);
  }
  if (arrival)
    BulkWaitOp::create(t.b, arrival);
  auto addChunks = [&](ArrayRef<Value> chunks, ArrayRef<Value> right,
                       SmallVector<Value> &sums) {
    for (auto [chunk, sum] : llvm::zip(chunks, sums))
      for (int n = 0; n < warp.tilesPerChunk; ++n)
        sum = warp.codesMma(chunk, n, /*transpose=*/false, right[n], sum);
  };
  SmallVector<Value> sums(tiles, start);
  if (slabs)
    return slabsProduct(columns, count, sums);
  if (rolled)
    return t.loop(t.index(0), t.index(warp.chunks), 1, sums,
                  [&](Value c, ValueRange carried) {
                    SmallVector<Value> next(carried);
                    addChunks(loadChunks(c), rightOf(c), next);
                    return next;
                  });
  for (int c = 0; c < warp.chunks; ++c) {
    SmallVector<Value> chunks;
    if (loaded->codes.empty())
      chunks = loadChunks(t.index(c));
    else
      chunks.assign(loaded->codes.begin() + c * tiles,
                    loaded->codes.begin() + (c + 1) * tiles);
    addChunks(chunks, rights[c], sums);
  }
  return sums;
}

SmallVector<Value> MmaHead::readGroup(ArrayRef<Value> vectors, bool first) {
  const int count = vectors.size();
  const Loaded &now = *loaded;
  arena.reset(workspace);
  const int64_t width = layout.paddedKey + 8;
  const bool wide = warp.isWide();
  const View both = arena.take(warp.halfType(), 4 * count, width);
  arena.reset(workspace);
  const View folded = wide ? takeWideColumns(count)
                           : arena.take(warp.halfType(), 2 * count, width);
  const View plain = arena.take(termType, 2 * count, width);
  const View factors = arena.take(ElementType::F32, 1, 2 * count);
  // Where decays were, which by then are in the keys.
  const int64_t behind = arena.mark();
  arena.reset(decayPlace);
  auto takeSums = [&] {
    return wide ? takeParts(count)
                : arena.take(ElementType::F32, count, layout.paddedValue);
  };
  View sums = takeSums();
  View termSums = arena.take(ElementType::F32, count, layout.paddedValue);
  if (arena.mark() > workspace) {
    arena.reset(behind);
    sums = takeSums();
    termSums = arena.take(ElementType::F32, count, layout.paddedValue);
  } else {
    arena.reset(behind);
  }

  spreadColumns(vectors, folded, plain, both, factors);
  WideRead ofWide;
  if (wide)
    ofWide = startWide(folded, count, first);
  SmallVector<Value> products;
  // Bulk copies of codes start before copies of records, which wait for the
  // fill. On an H200 heads of up to 128 x 128 gain up to 4 %; those of 256 x
  // 256, one block of which an SM holds, lose as much.
  constexpr int kMostElements = 128 * 128;
  const bool codesFirst =
      arrival && !wide &&
      layout.paddedKey * layout.paddedValue <= kMostElements;
  if (codesFirst) {
    t.barrier();
    products = codesProduct(folded, count);
  }
  if (wide && first)
    weighTerms(now.window.keyDecay, now.window.fill);
  if (first)
    finishTerms(now.window.keyDecay, now.window.fill);
  CopyWaitOp::create(t.b);
  t.barrier();
  Scores scores;
  auto readCodes = [&] {
    if (wide)
      finishWide(ofWide, sums);
    else if (!codesFirst)
      products = codesProduct(folded, count);
  };
  if (hasTerms())
    scores = scoreTerms(termKeys, warp.keyTiles, plain, count, Columns::Parts,
                        readCodes);
  else
    readCodes();
  for (int i = 0; i < warp.valueTilesPerWarp; ++i) {
    Value first = warp.ownValueTile(i);
    first = t.mul(first, t.index(kTile));
    if (!wide)
      warp.storeColumns(sums, 0, count, first, products[i]);
    if (hasTerms())
      warp.storeColumns(termSums, 0, count, first,
                        t.mul(sumTerms(scores, termValues, first),
                              t.splat(scores.factor, t.vectorOf(int64_t(4)))));
  }
  t.warpBarrier(); // a warp reads the values that it wrote

  SmallVector<Value> results;
  for (int c = 0; c < count; ++c) {
    Value dense;
    if (wide) {
      dense = sumOfParts(sums, c);
      if (layout.record.keyDecay == DecayShape::Scalar)
        dense = t.scale(dense, now.window.keyDecay);
    } else {
      dense = t.loadAlong(VectorAxis::Value, sums, t.index(c));
      Value factor = t.scale(t.loadScalar(factors, t.index(0), t.index(c)),
                             t.f32(1 / warp.codeUnit()));
      dense = t.scale(t.scale(dense, factor), now.valueScale);
    }
    if (hasTerms()) {
      Value terms = t.loadAlong(VectorAxis::Value, termSums, t.index(c));
      Value factor = t.loadScalar(factors, t.index(0), t.index(count + c));
      dense = t.add(t.scale(terms, factor), dense);
    }
    results.push_back(dense);
  }
  return results;
}

SmallVector<Value> MmaHead::read(ArrayRef<Value> vectors) {
  if (!warp.isWide()) // else once codes are read
    weighTerms(loaded->window.keyDecay, loaded->window.fill);
  // A vector that is read with twice is one column.
  SmallVector<Value> distinct;
  for (Value vector : vectors)
    if (!llvm::is_contained(distinct, vector))
      distinct.push_back(vector);
  SmallVector<Value> columns;
  for (size_t first = 0; first < distinct.size(); first += kMaxColumns) {
    if (first > 0)
      t.barrier(); // the group before has read its sums and scores
    const size_t count = std::min<size_t>(kMaxColumns, distinct.size() - first);
    columns.append(
        readGroup(ArrayRef(distinct).slice(first, count), first == 0));
  }
  SmallVector<Value> results;
  for (Value vector : vectors)
    results.push_back(columns[llvm::find(distinct, vector) - distinct.begin()]);
  return results;
}
