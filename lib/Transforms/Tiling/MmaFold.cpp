//===- MmaFold.cpp - a window becomes a checkpoint, on tensor cores -------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state is never whole anywhere. Products with it (to fit compensators) go
// through the codes and the terms, as a read does. What needs its elements
// (scales, codes) rebuilds them tile by tile:
//
//   E[v, k] = codes[v, k] columnScale[v] rowScale[k] + sum_t values[v, t]
//   keys[k, t]
//
// with the panels turned round, so that one tensor-core product adds 16 terms,
// the new compensators among them, keys negated. A pass that sums over values
// gives each warp its key tiles, one that sums over keys its value tiles: the
// codes are read again each time, from the cache, and no pass needs the sums of
// another warp.
//
//===----------------------------------------------------------------------===//

#include "Compensators.h"
#include "MmaHead.h"
#include "ScaleFit.h"

#include <cmath>

using namespace mlir;
using namespace decant;

namespace decant {

class MmaFold {
public:
  explicit MmaFold(MmaHead &head)
      : h(head), t(head.t), warp(head.warp), layout(head.layout),
        rank(layout.compensators), firstNew(head.records + rank) {}

  void run(const TokenUpdate &update) {
    start(update);
    if (rank > 0)
      fitTerms();
    keyInverse = line(layout.paddedKey);
    valueInverse = line(layout.paddedValue);
    newKeyScale = line(layout.paddedKey);
    newValueScale = line(layout.paddedValue);
    turnPanel(h.termKeys, turnedKeys, layout.paddedKey, /*weighted=*/false);
    turnPanel(h.termValues, turnedValues, layout.paddedValue,
              /*weighted=*/true);
    for (const ScaleSpec &scale : layout.scales)
      fitScale(scale, &scale == &layout.scales.back());
    encode();
    storeScales();
    h.head.setFill(t, t.index(0));
  }

private:
  View line(int dim) { return h.arena.take(ElementType::F32, 1, dim); }
  int dimOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? layout.paddedKey : layout.paddedValue;
  }
  static VectorAxis other(VectorAxis axis) {
    return axis == VectorAxis::Key ? VectorAxis::Value : VectorAxis::Key;
  }
  const View &termsOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? h.termKeys : h.termValues;
  }
  const View &scaleOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? rowScale : columnScale;
  }
  const View &inverseOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? keyInverse : valueInverse;
  }

  //===--- start: panels, weights, the old scales -------------------------===//

  void start(const TokenUpdate &update) {
    Arena &arena = h.arena;
    t.barrier(); // a read may still use the workspace
    arena.reset(h.workspace);
    rowScale = line(layout.paddedKey);
    columnScale = line(layout.paddedValue);
    // A panel and its turned form share memory.
    auto turned = [&](const View &panel, int dim) {
      const Region region{0, h.termType, dim, h.allRows + 8};
      auto source = panel.memref.getDefiningOp<memref::ViewOp>();
      return t.view(source.getSource(), source.getByteShift(), region);
    };
    turnedKeys = turned(h.termKeys, layout.paddedKey);
    turnedValues = turned(h.termValues, layout.paddedValue);

    const WindowStart &window = h.loaded->window;
    Value keyDecay = t.scale(window.keyDecay, update.keyDecay);
    const bool atEveryStep = layout.window == 1;
    h.weighTerms(keyDecay, window.fill);
    if (atEveryStep)
      storeUpdate(update);
    h.finishTerms(keyDecay, window.fill);

    Value rows = keyDecay;
    if (h.loaded->keyScale)
      rows = t.scale(rows, h.loaded->keyScale);
    if (!rows)
      rows = t.f32(1);
    if (!isa<VectorType>(rows.getType()))
      rows = t.splat(rows, t.keyType());
    t.storeAlong(VectorAxis::Key, rowScale, t.index(0), rows);
    Value columns = h.loaded->valueScale;
    if (!columns)
      columns = t.splat(t.f32(1), t.valueType());
    t.storeAlong(VectorAxis::Value, columnScale, t.index(0), columns);
    CopyWaitOp::create(t.b);
    t.barrier();
  }

  /// The step's own terms, in the rows of records: k u^T as (k1 + k2) (u1 +
  /// u2)^T without its smallest part, k2 u2^T.
  void storeUpdate(const TokenUpdate &update) {
    for (auto [n, key, value] : llvm::enumerate(update.keys, update.values)) {
      auto [keyHigh, keyRest] = warp.split(key, ElementType::F16, true);
      auto [valueHigh, valueRest] = warp.split(value, ElementType::F16, true);
      const std::pair<Value, Value> parts[] = {
          {keyHigh, valueHigh}, {keyRest, valueHigh}, {keyHigh, valueRest}};
      for (int i = 0; i < 3; ++i) {
        const auto &part = parts[i];
        Value row = t.index(3 * n + i);
        t.ifTrue(t.writes(VectorAxis::Key), [&] {
          warp.storeRaw(h.termKeys, row, t.firstKey, part.first);
        });
        t.ifTrue(t.writes(VectorAxis::Value), [&] {
          warp.storeRaw(h.termValues, row, t.firstValue, part.second);
        });
      }
    }
    for (int row = 3 * update.keys.size(); row < h.records; ++row)
      zeroTerm(row);
  }

  void zeroTerm(int row) {
    for (VectorAxis axis : {VectorAxis::Key, VectorAxis::Value})
      warp.forElements(dimOf(axis), [&](Value element, Value inside) {
        t.ifTrue(inside, [&] {
          t.storeScalar(termsOf(axis), t.index(row), element, t.f32(0));
        });
      });
  }

  //===--- compensators ---------------------------------------------------===//

  void fitTerms() {
    Arena &arena = h.arena;
    const int64_t mark = arena.mark();
    const View keys = arena.take(ElementType::F32, rank, layout.paddedKey);
    const View values = arena.take(ElementType::F32, rank, layout.paddedValue);
    partial = arena.take(ElementType::F32, warp.warps, kMaxPairs);
    for (int r = 0; r < rank; ++r)
      t.storeAlong(VectorAxis::Value, values, t.index(r),
                   startColumn(t, t.index(r)));
    t.barrier();
    // S Q0 and S Q are the same code: two rounds of one loop.
    t.loop(t.index(0), t.index(2), 1, {},
           [&](Value round, ValueRange) -> SmallVector<Value> {
             multiply(VectorAxis::Value, values, keys);
             t.ifTrue(warp.equal(round, 0), [&] {
               orthonormalise(VectorAxis::Key, keys, /*passes=*/1);
               multiply(VectorAxis::Key, keys, values);
               orthonormalise(VectorAxis::Value, values, /*passes=*/2);
             });
             return {};
           });
    storeTerms(VectorAxis::Key, keys, h.head.compKeys, /*negate=*/true);
    storeTerms(VectorAxis::Value, values, h.head.compValues, /*negate=*/false);
    t.barrier();
    arena.reset(mark);
  }

  /// to[r] = S from[r], or S^T from[r] when `axis`, which is summed over, is
  /// the key axis.
  void multiply(VectorAxis axis, const View &from, const View &to) {
    for (int first = 0; first < rank; first += kMaxColumns)
      multiplyGroup(axis, from, to, first, std::min(kMaxColumns, rank - first));
  }

  void multiplyGroup(VectorAxis axis, const View &from, const View &to,
                     int first, int count) {
    Arena &arena = h.arena;
    const int64_t mark = arena.mark();
    const int dim = dimOf(axis), toDim = dimOf(other(axis));
    const View folded = arena.take(warp.halfType(), 2 * count, dim + 8);
    const View plain = arena.take(h.termType, 2 * count, dim + 8);
    const View scores = arena.take(ElementType::F32, h.allRows, kMaxColumns);
    const View largest = arena.take(ElementType::F32, warp.warps, kMaxColumns);

    SmallVector<Value> maxima(count, t.f32(0));
    auto operand = [&](int c, Value element) {
      Value x = t.loadScalar(from, t.index(first + c), element);
      return std::pair(
          x, t.mul(x, t.loadScalar(scaleOf(axis), t.index(0), element)));
    };
    warp.forElements(dim, [&](Value element, Value) {
      for (int c = 0; c < count; ++c)
        maxima[c] = arith::MaxNumFOp::create(
            t.b, maxima[c],
            math::AbsFOp::create(t.b, operand(c, element).second));
    });
    Value block = warp.blockReduce(
        ReduceKind::Magnitude,
        vector::FromElementsOp::create(t.b, t.vectorOf(int64_t(count)), maxima),
        largest);
    SmallVector<WarpTile::PowerOfTwo> powers;
    for (int c = 0; c < count; ++c)
      powers.push_back(warp.powerOfTwo(t.element(block, c)));
    warp.forElements(dim, [&](Value element, Value inside) {
      t.ifTrue(inside, [&] {
        for (int c = 0; c < count; ++c) {
          auto [x, scaled] = operand(c, element);
          storeSplit(folded, c, element, t.mul(scaled, powers[c].inverse));
          storeSplit(plain, c, element, x); // of size 1
        }
      });
    });
    t.barrier();
    const int rows = h.readRows;
    h.scoreTerms(scores, termsOf(axis), dim / kTile, plain, count, rows);
    if (axis == VectorAxis::Key)
      sumOverKeys(folded, count, to, first);
    else
      sumOverValues(folded, count, to, first);
    t.barrier();
    warp.forElements(toDim, [&](Value element, Value inside) {
      t.ifTrue(inside, [&] {
        Value scale = t.loadScalar(scaleOf(other(axis)), t.index(0), element);
        Value result = termSums(scores, termsOf(other(axis)), element);
        for (int c = 0; c < count; ++c) {
          Value dense = t.loadScalar(to, t.index(first + c), element);
          dense = t.mul(t.mul(dense, powers[c].factor), scale);
          t.storeScalar(to, t.index(first + c), element,
                        t.add(dense, t.element(result, c)));
        }
      });
    });
    t.barrier();
    arena.reset(mark);
  }

  void storeSplit(const View &panel, int column, Value element, Value x) {
    auto [high, rest] = warp.split(x, panel.type);
    auto store = [&](int row, Value half) {
      memref::StoreOp::create(t.b, half, panel.memref,
                              ValueRange{t.index(row), element});
    };
    store(2 * column, high);
    store(2 * column + 1, rest);
  }

  /// sum_t scores[t] terms[t, element] for kMaxColumns columns.
  Value termSums(const View &scores, const View &terms, Value element) {
    const VectorType type = t.vectorOf(int64_t(kMaxColumns));
    constexpr int kTogether = 4;
    const int rows = h.records + rank;
    auto addTerm = [&](Value term, Value sum) {
      Value x = t.loadScalar(terms, term, element);
      Value row = t.load(scores, term, t.index(0), kMaxColumns);
      return t.fma(t.splat(x, type), row, sum);
    };
    Value sum =
        t.loop(t.index(0), t.index(rows / kTogether * kTogether), kTogether,
               {t.zeros(type)}, [&](Value term, ValueRange carried) {
                 Value next = carried[0];
                 for (int n = 0; n < kTogether; ++n)
                   next = addTerm(t.add(term, t.index(n)), next);
                 return SmallVector<Value>{next};
               })[0];
    for (int term = rows / kTogether * kTogether; term < rows; ++term)
      sum = addTerm(t.index(term), sum);
    return sum;
  }

  /// A lane of every pair group has high part and rest of one column.
  void storeSums(const View &sums, int first, int count, Value tile,
                 Value product) {
    Value which = arith::DivUIOp::create(t.b, warp.pair, t.index(2));
    t.ifTrue(warp.less(which, t.index(count)), [&] {
      for (int half = 0; half < 2; ++half) {
        Value at = t.add(t.add(t.mul(tile, t.index(kTile)), warp.group),
                         t.index(8 * half));
        t.storeScalar(sums, t.add(which, t.index(first)), at,
                      t.add(t.element(product, 2 * half),
                            t.element(product, 2 * half + 1)));
      }
    });
  }

  Value ownValueTile(int i) {
    return t.add(t.mul(t.valueLane, t.index(warp.valueTilesPerWarp)),
                 t.index(i));
  }

  /// Chunks of key tiles are dealt out to the warps in rounds; warps without
  /// one repeat the last.
  int chunkRounds() const {
    return (warp.chunks + warp.warps - 1) / warp.warps;
  }
  Value ownChunk(Value round) {
    Value chunk = t.add(t.mul(round, t.index(warp.warps)), t.valueLane);
    if (warp.chunks % warp.warps == 0)
      return chunk;
    return arith::MinUIOp::create(t.b, chunk, t.index(warp.chunks - 1));
  }

  void sumOverKeys(const View &columns, int count, const View &sums,
                   int first) {
    for (int i = 0; i < warp.valueTilesPerWarp; ++i) {
      Value tile = ownValueTile(i);
      Value product = overChunks(
          tile, {warp.zeroSum()},
          [&](Value chunk, Value c, ValueRange carried) {
            Value sum = carried[0];
            for (int n = 0; n < warp.tilesPerChunk; ++n) {
              Value key = t.mul(
                  t.add(t.mul(c, t.index(warp.tilesPerChunk)), t.index(n)),
                  t.index(kTile));
              sum = warp.mma(warp.tileOf(chunk, n),
                             warp.rightOfFirst(columns, 2 * count, key), sum);
            }
            return SmallVector<Value>{sum};
          })[0];
      storeSums(sums, first, count, tile, product);
    }
  }

  void sumOverValues(const View &columns, int count, const View &sums,
                     int first) {
    t.loop(t.index(0), t.index(chunkRounds()), 1, {},
           [&](Value round, ValueRange) -> SmallVector<Value> {
             Value c = ownChunk(round);
             SmallVector<Value> products = overValueTiles(
                 c, SmallVector<Value>(warp.tilesPerChunk, warp.zeroSum()),
                 [&](Value chunk, Value tile, ValueRange carried) {
                   SmallVector<Value> next;
                   Value right = warp.rightOfFirst(columns, 2 * count,
                                                   t.mul(tile, t.index(kTile)));
                   for (int n = 0; n < warp.tilesPerChunk; ++n)
                     next.push_back(
                         warp.mma(warp.transposed(warp.tileOf(chunk, n)), right,
                                  carried[n]));
                   return next;
                 });
             for (auto [n, product] : llvm::enumerate(products))
               storeSums(
                   sums, first, count,
                   t.add(t.mul(c, t.index(warp.tilesPerChunk)), t.index(n)),
                   product);
             return {};
           });
  }

  using ChunkBody = llvm::function_ref<SmallVector<Value>(
      Value chunk, Value index, ValueRange carried)>;

  /// `body` for all chunks of a value tile, the next one on its way.
  SmallVector<Value> overChunks(Value tile, ArrayRef<Value> initial,
                                ChunkBody body) {
    return prefetched(
        warp.chunks, initial,
        [&](Value c) { return warp.loadChunk(h.codes, tile, c); }, body);
  }
  /// `body` for one chunk of all value tiles.
  SmallVector<Value> overValueTiles(Value c, ArrayRef<Value> initial,
                                    ChunkBody body) {
    return prefetched(
        warp.valueTiles, initial,
        [&](Value tile) { return warp.loadChunk(h.codes, tile, c); }, body);
  }
  SmallVector<Value> prefetched(int count, ArrayRef<Value> initial,
                                llvm::function_ref<Value(Value)> load,
                                ChunkBody body) {
    SmallVector<Value> carried = {load(t.index(0))};
    carried.append(initial.begin(), initial.end());
    SmallVector<Value> results =
        t.loop(t.index(0), t.index(count), 1, carried,
               [&](Value i, ValueRange arguments) {
                 Value following = arith::MinUIOp::create(
                     t.b, t.add(i, t.index(1)), t.index(count - 1));
                 SmallVector<Value> next = {load(following)};
                 next.append(body(arguments[0], i, arguments.drop_front()));
                 return next;
               });
    results.erase(results.begin());
    return results;
  }

  /// Orthonormal columns by Cholesky of their Gram matrix. One pass leaves
  /// errors of the size of the matrix's condition: enough for a span, while
  /// what is stored takes two. A pivot below the floor is a dead direction,
  /// which becomes zero.
  void orthonormalise(VectorAxis axis, const View &columns, int passes) {
    if (rank > kMaxCholesky)
      return decant::orthonormalise(t, axis, columns, rank);
    for (int pass = 0; pass < passes; ++pass)
      choleskyPass(axis, columns);
  }

  void choleskyPass(VectorAxis axis, const View &columns) {
    const int dim = dimOf(axis);
    SmallVector<Value> sums(rank * (rank + 1) / 2, t.f32(0));
    warp.forElements(dim, [&](Value element, Value inside) {
      SmallVector<Value> x = column(columns, element, inside);
      int n = 0;
      for (int i = 0; i < rank; ++i)
        for (int j = 0; j <= i; ++j, ++n)
          sums[n] = math::FmaOp::create(t.b, x[i], x[j], sums[n]);
    });
    Value gram =
        warp.blockReduce(ReduceKind::Add,
                         vector::FromElementsOp::create(
                             t.b, t.vectorOf(int64_t(sums.size())), sums),
                         partial);
    auto entry = [&](int i, int j) {
      return t.element(gram, i * (i + 1) / 2 + j);
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
      SmallVector<Value> x = column(columns, element, {});
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
    // Each thread reads only elements that it wrote; `partial` is written again
    // by the next pass.
    t.barrier();
  }

  SmallVector<Value> column(const View &columns, Value element, Value inside) {
    SmallVector<Value> x;
    for (int i = 0; i < rank; ++i) {
      x.push_back(t.loadScalar(columns, t.index(i), element));
      if (inside)
        x[i] = arith::SelectOp::create(t.b, inside, x[i], t.f32(0));
    }
    return x;
  }

  /// The fitted terms as f16, to the slot and to the panel.
  void storeTerms(VectorAxis axis, const View &fitted, const View &stored,
                  bool negate) {
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

  //===--- the residual, tile by tile -------------------------------------===//

  /// panel[term, element] to turned[element, term], which share memory, rows
  /// without a term as zeros.
  void turnPanel(const View &panel, const View &turned, int dim,
                 bool weighted) {
    const int terms = firstNew + rank, width = h.allRows;
    SmallVector<std::pair<Value, SmallVector<Value>>> held;
    warp.forElements(dim, [&](Value element, Value) {
      SmallVector<Value> column;
      for (int term = 0; term < width; ++term) {
        if (term >= terms) {
          column.push_back(t.narrow(t.f32(0), h.termType));
          continue;
        }
        Value x = memref::LoadOp::create(t.b, panel.memref,
                                         ValueRange{t.index(term), element});
        // New compensators are under no decay.
        if (weighted && term < firstNew) {
          Value weight = t.loadScalar(h.weights, t.index(0), t.index(term));
          x = t.narrow(t.mul(t.widen(x), weight), h.termType);
        }
        column.push_back(x);
      }
      held.emplace_back(element, column);
    });
    t.barrier();
    size_t next = 0;
    warp.forElements(dim, [&](Value, Value inside) {
      Value element = held[next].first;
      ArrayRef<Value> column = held[next++].second;
      t.ifTrue(inside, [&] {
        for (int term = 0; term < width; term += 8) {
          Value part = vector::FromElementsOp::create(
              t.b, VectorType::get({8}, toType(t.b.getContext(), h.termType)),
              column.slice(term, 8));
          warp.storeRaw(turned, element, t.index(term), part);
        }
      });
    });
    t.barrier();
  }

  /// The operands of a tile that depend on its values, or on its keys, only.
  struct ValueSide {
    SmallVector<Value> terms;
    Value scale;   // vector<4>: of (g, g, g + 8, g + 8)
    Value inverse; // null: none was fitted
  };
  struct KeySide {
    SmallVector<Value> terms[2];
    Value scale[2]; // vector<4>: of (2t, 2t + 1, 2t, 2t + 1)
    Value inverse[2];
  };

  Value twice(Value pair) {
    return vector::ShuffleOp::create(t.b, pair, pair,
                                     ArrayRef<int64_t>{0, 1, 0, 1});
  }

  /// Loaded anew for each chunk: registers that held it through a pass would
  /// be missing for blocks in flight.
  ValueSide valueSide(Value tile) {
    ValueSide side;
    for (int k = 0; k < h.allRows; k += kTile)
      side.terms.push_back(
          warp.left(turnedValues, t.mul(tile, t.index(kTile)), t.index(k)));
    auto line = [&](const View &view) -> Value {
      Value at = t.add(t.mul(tile, t.index(kTile)), warp.group);
      Value low = t.loadScalar(view, t.index(0), at);
      Value high = t.loadScalar(view, t.index(0), t.add(at, t.index(8)));
      return vector::FromElementsOp::create(t.b, t.vectorOf(int64_t(4)),
                                            ValueRange{low, low, high, high});
    };
    side.scale = line(columnScale);
    if (hasInverse[int(VectorAxis::Value)])
      side.inverse = line(valueInverse);
    return side;
  }

  KeySide keySide(Value tile) {
    KeySide side;
    for (int half = 0; half < 2; ++half) {
      Value row = t.add(t.mul(tile, t.index(kTile)), t.index(8 * half));
      for (int k = 0; k < h.allRows; k += kTile)
        side.terms[half].push_back(warp.right(turnedKeys, row, t.index(k)));
      Value at = t.add(row, warp.pair);
      side.scale[half] = twice(warp.raw(rowScale, t.index(0), at, 2));
      if (hasInverse[int(VectorAxis::Key)])
        side.inverse[half] = twice(warp.raw(keyInverse, t.index(0), at, 2));
    }
    return side;
  }

  /// Half a tile of the residual, over the scales fitted so far: values g, g +
  /// 8 by two neighbouring keys.
  Value residual(Value codes, int half, const ValueSide &values,
                 const KeySide &keys) {
    Value part = t.widen(warp.slice(codes, 4 * half, 4));
    Value sum = t.mul(part, t.mul(values.scale, keys.scale[half]));
    for (auto [left, right] : llvm::zip(values.terms, keys.terms[half]))
      sum = warp.mma(left, right, sum);
    return t.scale(t.scale(sum, keys.inverse[half]), values.inverse);
  }

  //===--- scales and codes -----------------------------------------------===//

  void fitScale(const ScaleSpec &scale, bool last) {
    const ReduceKind kind =
        scale.fit == ScaleFit::AbsMax ? ReduceKind::Max : ReduceKind::Add;
    const VectorAxis axis =
        scale.axis == Axis::Key ? VectorAxis::Key : VectorAxis::Value;
    const bool keys = axis == VectorAxis::Key;
    const View &stored = keys ? newKeyScale : newValueScale;
    if (keys)
      keyStatistics(kind, stored);
    else
      valueStatistics(kind, stored);
    t.barrier();
    warp.forElements(dimOf(axis), [&](Value element, Value inside) {
      Value statistic = t.loadScalar(stored, t.index(0), element);
      Value fitted = scaleFrom(t, scale, statistic,
                               keys ? layout.valueDim : layout.keyDim, last);
      Value reciprocal = inverseScale(t, fitted);
      t.ifTrue(inside, [&] {
        t.storeScalar(stored, t.index(0), element, fitted);
        t.storeScalar(inverseOf(axis), t.index(0), element, reciprocal);
      });
    });
    hasInverse[int(axis)] = true;
    t.barrier();
  }

  Value combine(ReduceKind kind, Value x, Value y) {
    return kind == ReduceKind::Max
               ? arith::MaxNumFOp::create(t.b, x, y).getResult()
               : t.add(x, y);
  }

  void keyStatistics(ReduceKind kind, const View &out) {
    t.loop(t.index(0), t.index(chunkRounds()), 1, {},
           [&](Value round, ValueRange) -> SmallVector<Value> {
             Value c = ownChunk(round);
             SmallVector<KeySide> sides;
             for (int n = 0; n < warp.tilesPerChunk; ++n)
               sides.push_back(keySide(keyTile(c, n)));
             const VectorType two = t.vectorOf(int64_t(2));
             SmallVector<Value> sums = overValueTiles(
                 c, SmallVector<Value>(2 * warp.tilesPerChunk, t.zeros(two)),
                 [&](Value chunk, Value tile, ValueRange carried) {
                   const ValueSide values = valueSide(tile);
                   SmallVector<Value> next(carried);
                   for (int n = 0; n < warp.tilesPerChunk; ++n) {
                     Value codes = warp.tileOf(chunk, n);
                     for (int half = 0; half < 2; ++half) {
                       Value x = math::AbsFOp::create(
                           t.b, residual(codes, half, values, sides[n]));
                       Value &sum = next[2 * n + half];
                       sum = combine(kind, sum,
                                     combine(kind, warp.slice(x, 0, 2),
                                             warp.slice(x, 2, 2)));
                     }
                   }
                   return next;
                 });
             // Lanes that differ in g hold the same keys.
             for (auto [i, sum] : llvm::enumerate(sums)) {
               Value total = partReduce(kind, sum, 4, 32);
               Value at = t.add(
                   t.add(t.mul(keyTile(c, i / 2), t.index(kTile)), warp.pair),
                   t.index(8 * (i % 2)));
               t.ifTrue(warp.equal(warp.group, 0),
                        [&] { warp.storeRaw(out, t.index(0), at, total); });
             }
             return {};
           });
  }

  void valueStatistics(ReduceKind kind, const View &out) {
    const VectorType two = t.vectorOf(int64_t(2));
    SmallVector<Value> sums = overOwnTiles(
        SmallVector<Value>(warp.valueTilesPerWarp, t.zeros(two)),
        [&](ArrayRef<Value> chunks, Value c, ValueRange carried) {
          const SmallVector<ValueSide> sides = ownValueSides();
          SmallVector<Value> next(carried);
          for (int n = 0; n < warp.tilesPerChunk; ++n) {
            const KeySide keys = keySide(keyTile(c, n));
            for (auto [i, values] : llvm::enumerate(sides)) {
              Value codes = warp.tileOf(chunks[i], n);
              for (int half = 0; half < 2; ++half)
                next[i] = combine(
                    kind, next[i],
                    overPairs(kind, residual(codes, half, values, keys)));
            }
          }
          return next;
        });
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value total = partReduce(kind, sum, 1, 4);
      Value tile = ownValueTile(i);
      t.ifTrue(warp.equal(warp.pair, 0), [&] {
        Value at = t.add(t.mul(tile, t.index(kTile)), warp.group);
        t.storeScalar(out, t.index(0), at, t.element(total, 0));
        t.storeScalar(out, t.index(0), t.add(at, t.index(8)),
                      t.element(total, 1));
      });
    }
  }

  /// |x| of values g and g + 8, over two keys.
  Value overPairs(ReduceKind kind, Value x) {
    x = math::AbsFOp::create(t.b, x);
    auto pick = [&](int64_t first, int64_t second) {
      return vector::ShuffleOp::create(t.b, x, x,
                                       ArrayRef<int64_t>{first, second});
    };
    return combine(kind, pick(0, 2), pick(1, 3));
  }

  /// Each lane overwrites codes that it alone reads in this pass.
  void encode() {
    // A scale of few bits may have become smaller than what it was fitted to.
    const bool clamps = isInteger(layout.codes.type) &&
                        llvm::any_of(layout.scales, [](const ScaleSpec &scale) {
                          return scale.type != ElementType::F32;
                        });
    overOwnTiles(
        {},
        [&](ArrayRef<Value> chunks, Value c, ValueRange) -> SmallVector<Value> {
          const SmallVector<ValueSide> sides = ownValueSides();
          SmallVector<SmallVector<Value>> tiles(sides.size());
          for (int n = 0; n < warp.tilesPerChunk; ++n) {
            const KeySide keys = keySide(keyTile(c, n));
            for (auto [i, values] : llvm::enumerate(sides)) {
              Value codes = warp.tileOf(chunks[i], n);
              Value x = warp.join(residual(codes, 0, values, keys),
                                  residual(codes, 1, values, keys));
              tiles[i].push_back(
                  clamps ? roundToCode(t, x, maxCode(layout.codes.type)) : x);
            }
          }
          for (auto [i, tile] : llvm::enumerate(tiles))
            warp.storeChunk(h.codes, ownValueTile(i), c, tile);
          return {};
        });
  }

  Value keyTile(Value chunk, int n) {
    return t.add(t.mul(chunk, t.index(warp.tilesPerChunk)), t.index(n));
  }

  SmallVector<ValueSide> ownValueSides() {
    SmallVector<ValueSide> sides;
    for (int i = 0; i < warp.valueTilesPerWarp; ++i)
      sides.push_back(valueSide(ownValueTile(i)));
    return sides;
  }

  /// `body` for each chunk of key tiles of all own value tiles, the next ones
  /// on their way.
  SmallVector<Value> overOwnTiles(
      ArrayRef<Value> initial,
      llvm::function_ref<SmallVector<Value>(ArrayRef<Value> chunks, Value c,
                                            ValueRange carried)>
          body) {
    const int own = warp.valueTilesPerWarp;
    auto load = [&](Value c, SmallVector<Value> &chunks) {
      for (int i = 0; i < own; ++i)
        chunks.push_back(warp.loadChunk(h.codes, ownValueTile(i), c));
    };
    SmallVector<Value> carried;
    load(t.index(0), carried);
    carried.append(initial.begin(), initial.end());
    SmallVector<Value> results =
        t.loop(t.index(0), t.index(warp.chunks), 1, carried,
               [&](Value c, ValueRange arguments) {
                 SmallVector<Value> next;
                 load(arith::MinUIOp::create(t.b, t.add(c, t.index(1)),
                                             t.index(warp.chunks - 1)),
                      next);
                 const SmallVector<Value> now(arguments.take_front(own));
                 next.append(body(now, c, arguments.drop_front(own)));
                 return next;
               });
    results.erase(results.begin(), results.begin() + own);
    return results;
  }

  Value partReduce(ReduceKind kind, Value value, int64_t from, int64_t until) {
    return LaneReduceOp::create(
        t.b, value.getType(), kind, value,
        AxisAttr::get(t.b.getContext(), VectorAxis::Key),
        t.b.getI64IntegerAttr(from), t.b.getI64IntegerAttr(until));
  }

  void storeScales() {
    auto store = [&](VectorAxis axis, const View &fitted, const View &stored) {
      warp.forElements(dimOf(axis), [&](Value element, Value inside) {
        Value scale = t.loadScalar(fitted, t.index(0), element);
        t.ifTrue(inside,
                 [&] { t.storeScalar(stored, t.index(0), element, scale); });
      });
    };
    if (!layout.keyScale.empty())
      store(VectorAxis::Key, newKeyScale, h.head.keyScale);
    if (!layout.valueScale.empty())
      store(VectorAxis::Value, newValueScale, h.head.valueScale);
  }

  /// Cholesky is written out; larger ranks take Gram-Schmidt in loops.
  static constexpr int kMaxCholesky = 8;
  static constexpr int kMaxPairs = kMaxCholesky * (kMaxCholesky + 1) / 2;

  MmaHead &h;
  LaneTile &t;
  WarpTile &warp;
  const SlotLayout &layout;
  const int rank, firstNew; // row of the first new compensator
  View rowScale, columnScale, keyInverse, valueInverse;
  View newKeyScale, newValueScale, turnedKeys, turnedValues, partial;
  bool hasInverse[2] = {false, false};
};

} // namespace decant

void MmaHead::fold(const TokenUpdate &update) { MmaFold(*this).run(update); }
