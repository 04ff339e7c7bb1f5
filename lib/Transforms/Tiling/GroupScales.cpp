//===- GroupScales.cpp - scales that do not factor out of sums ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group may reach over several lanes. So every lane first leaves the extremes
// of its part of each group in shared memory: a *cell*, as many elements along
// the group as the group and the lane's part have in common. Then some lane
// makes each group's scale from its cells.
//
//===----------------------------------------------------------------------===//

#include "GroupScales.h"

#include "ScaleFit.h"

#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

bool alongRows(const LaneTile &tile) {
  return tile.layout.groups()->axis == Axis::Key;
}

/// Elements of a cell, along the group.
int cellOf(const LaneTile &tile) {
  return alongRows(tile)
             ? std::gcd(tile.layout.groupValues(), tile.schedule.valuesPerLane)
             : std::gcd(tile.layout.groupKeys(), tile.schedule.keysPerLane);
}

Value over(LaneTile &tile, Value x, int64_t y) {
  return arith::DivUIOp::create(tile.b, x, tile.index(y));
}

Value isBelow(LaneTile &tile, Value x, int64_t bound) {
  return arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ult, x,
                               tile.index(bound));
}

/// `first` .. + width < bound, element by element.
Value areBelow(LaneTile &tile, Value first, int64_t width, int64_t bound) {
  SmallVector<Value> bits;
  for (int64_t i = 0; i < width; ++i)
    bits.push_back(isBelow(tile, tile.add(first, tile.index(i)), bound));
  return vector::FromElementsOp::create(
      tile.b, VectorType::get({width}, tile.b.getI1Type()), bits);
}

/// Where the lane's columns of `row` are elements of the state, as i1 or a
/// vector of them; null where all are.
Value isInState(LaneTile &tile, Value row) {
  const SlotLayout &layout = tile.layout;
  const VectorType type =
      VectorType::get(tile.valueType().getShape(), tile.b.getI1Type());
  Value columns, rows;
  if (layout.valueDim < layout.paddedValue)
    columns =
        areBelow(tile, tile.firstValue, type.getDimSize(0), layout.valueDim);
  if (layout.keyDim < layout.paddedKey)
    rows = tile.splat(isBelow(tile, row, layout.keyDim), type);
  if (columns && rows)
    return arith::AndIOp::create(tile.b, columns, rows);
  return columns ? columns : rows;
}

Value larger(LaneTile &tile, Value x, Value y) {
  return arith::MaxNumFOp::create(tile.b, x, y);
}

Value negative(LaneTile &tile, Value x) {
  return arith::NegFOp::create(tile.b, x);
}

class Fitter {
public:
  using Prepare = llvm::function_ref<Value(Value, Value, int)>;

  Fitter(LaneTile &tile, StateRows &rows)
      : tile(tile), rows(rows), layout(tile.layout), scale(*layout.groups()),
        cell(cellOf(tile)) {}

  GroupFit run(Prepare prepare) {
    const bool isMinMax = scale.fit == ScaleFit::MinMax;
    const int64_t keys =
        alongRows(tile) ? layout.paddedKey : layout.paddedKey / cell;
    const int64_t values =
        alongRows(tile) ? layout.paddedValue / cell : layout.paddedValue;
    for (int side = 0; side < (isMinMax ? 2 : 1); ++side)
      extremes.push_back(tile.scratch(keys, values));
    if (alongRows(tile))
      cellsOfRows(prepare);
    else
      cellsOfColumns(prepare);
    tile.barrier();
    const int64_t count = layout.groupRows(), width = layout.groupColumns();
    fit.scale = tile.scratch(count, width);
    fit.inverse = tile.scratch(count, width);
    if (isMinMax)
      fit.offset = tile.scratch(count, width);
    if (alongRows(tile))
      fitRows();
    else
      fitColumns();
    tile.barrier();
    return fit;
  }

private:
  /// What is largest in a group: |x|, or x and -x.
  SmallVector<Value> sides(Value values, Value row) {
    if (scale.fit != ScaleFit::MinMax)
      return {math::AbsFOp::create(tile.b, values)};
    SmallVector<Value> both = {values, negative(tile, values)};
    if (Value inside = isInState(tile, row))
      for (Value &side : both)
        side = arith::SelectOp::create(
            tile.b, inside, side,
            tile.splat(tile.f32(-std::numeric_limits<float>::infinity()),
                       tile.valueType()));
    return both;
  }

  void cellsOfRows(Prepare prepare) {
    const int count = tile.schedule.valuesPerLane / cell;
    Value first = over(tile, tile.firstValue, cell);
    rows.forRounds(Terms::All, {},
                   [&](Value row, ArrayRef<Value> state,
                       ValueRange) -> SmallVector<Value> {
                     for (auto [n, values] : llvm::enumerate(state)) {
                       Value at = tile.add(row, tile.index(n));
                       for (auto [side, x] :
                            llvm::enumerate(sides(prepare(values, row, n), at)))
                         for (int i = 0; i < count; ++i) {
                           Value part = vector::ExtractStridedSliceOp::create(
                               tile.b, x, ArrayRef<int64_t>{i * cell},
                               ArrayRef<int64_t>{cell}, ArrayRef<int64_t>{1});
                           tile.storeScalar(extremes[side], at,
                                            tile.add(first, tile.index(i)),
                                            tile.reduce(ReduceKind::Max, part));
                         }
                     }
                     return {};
                   });
  }

  void cellsOfColumns(Prepare prepare) {
    Value lowest = tile.splat(tile.f32(-std::numeric_limits<float>::infinity()),
                              tile.valueType());
    rows.forParts(
        cell, Terms::All, SmallVector<Value>(extremes.size(), lowest),
        [&](Value row, ArrayRef<Value> state, ValueRange carried) {
          SmallVector<Value> most(carried);
          for (auto [n, values] : llvm::enumerate(state))
            for (auto [side, x] : llvm::enumerate(sides(
                     prepare(values, row, n), tile.add(row, tile.index(n)))))
              most[side] = larger(tile, most[side], x);
          return most;
        },
        [&](Value part, ArrayRef<Value> most) {
          Value at = tile.add(over(tile, tile.firstKey, cell), part);
          for (auto [side, x] : llvm::enumerate(most))
            tile.store(extremes[side], at, tile.firstValue, x);
        });
  }

  /// The largest of a group's cells; the last group of a line may have fewer.
  Value mostOf(int64_t perGroup, int64_t cells, Value group,
               llvm::function_ref<Value(Value cell)> load) {
    Value first = tile.mul(group, tile.index(perGroup)), most;
    for (int64_t i = 0; i < perGroup; ++i) {
      Value at = tile.add(first, tile.index(i));
      if (cells % perGroup != 0)
        at = arith::MinUIOp::create(tile.b, at, tile.index(cells - 1));
      Value x = load(at);
      most = most ? larger(tile, most, x) : x;
    }
    return most;
  }

  struct Fitted {
    Value scale, inverse, offset;
  };
  Fitted fitted(ArrayRef<Value> most) {
    if (scale.fit != ScaleFit::MinMax) {
      Value stored = scaleFrom(tile, layout.scales.size() - 1, most[0], 0);
      return {stored, inverseScale(tile, stored), {}};
    }
    auto [stored, offset] = rangeFrom(tile, scale, most[0], most[1]);
    return {stored, inverseScale(tile, stored), offset};
  }

  /// The value lanes share the groups of each of their rows.
  void fitRows() {
    const int64_t groups = layout.groupColumns();
    const int64_t cells = layout.paddedValue / cell;
    Value end = tile.add(tile.firstKey, tile.index(tile.schedule.keysPerLane));
    tile.loop(
        tile.firstKey, end, 1, {},
        [&](Value row, ValueRange) -> SmallVector<Value> {
          tile.loop(
              tile.valueLane, tile.index(groups), tile.schedule.valueLanes, {},
              [&](Value group, ValueRange) -> SmallVector<Value> {
                SmallVector<Value> most;
                for (const View &view : extremes)
                  most.push_back(mostOf(layout.groupValues() / cell, cells,
                                        group, [&](Value at) {
                                          return tile.loadScalar(view, row, at);
                                        }));
                const Fitted f = fitted(most);
                tile.storeScalar(fit.scale, row, group, f.scale);
                tile.storeScalar(fit.inverse, row, group, f.inverse);
                if (f.offset)
                  tile.storeScalar(*fit.offset, row, group, f.offset);
                return {};
              });
          return {};
        });
  }

  /// The key lanes share the groups of their columns.
  void fitColumns() {
    const int64_t groups = layout.groupRows();
    const int64_t cells = layout.paddedKey / cell;
    tile.loop(tile.keyLane, tile.index(groups), tile.schedule.keyLanes, {},
              [&](Value group, ValueRange) -> SmallVector<Value> {
                SmallVector<Value> most;
                for (const View &view : extremes)
                  most.push_back(mostOf(
                      layout.groupKeys() / cell, cells, group, [&](Value at) {
                        return tile.load(view, at, tile.firstValue,
                                         tile.schedule.valuesPerLane);
                      }));
                const Fitted f = fitted(most);
                tile.store(fit.scale, group, tile.firstValue, f.scale);
                tile.store(fit.inverse, group, tile.firstValue, f.inverse);
                if (f.offset)
                  tile.store(*fit.offset, group, tile.firstValue, f.offset);
                return {};
              });
  }

  LaneTile &tile;
  StateRows &rows;
  const SlotLayout &layout;
  const ScaleSpec &scale;
  const int cell;
  SmallVector<View, 2> extremes;
  GroupFit fit;
};

} // namespace

Value decant::ofGroups(LaneTile &tile, const View &table, Value row) {
  const int64_t width = tile.schedule.valuesPerLane;
  if (!alongRows(tile)) {
    Value group = tile.layout.groupRows() == 1
                      ? tile.index(0)
                      : over(tile, row, tile.layout.groupKeys());
    return tile.load(table, group, tile.firstValue, width);
  }
  const int64_t cell = cellOf(tile);
  Value all;
  for (int64_t i = 0; i < width; i += cell) {
    Value group = tile.layout.groupColumns() == 1
                      ? tile.index(0)
                      : over(tile, tile.add(tile.firstValue, tile.index(i)),
                             tile.layout.groupValues());
    Value part =
        tile.splat(tile.loadScalar(table, row, group), tile.vectorOf(cell));
    if (cell == width)
      return part;
    if (!all)
      all = tile.zeros(tile.valueType());
    all = vector::InsertStridedSliceOp::create(
        tile.b, part, all, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{1});
  }
  return all;
}

Value decant::withoutPadding(LaneTile &tile, Value row, Value values) {
  Value inside = isInState(tile, row);
  return inside ? arith::SelectOp::create(tile.b, inside, values,
                                          tile.zeros(tile.valueType()))
                      .getResult()
                : values;
}

GroupFit decant::fitGroups(
    LaneTile &tile, StateRows &rows,
    llvm::function_ref<Value(Value values, Value row, int n)> prepare) {
  return Fitter(tile, rows).run(prepare);
}

void decant::storeGroups(LaneTile &tile, const StoredHead &head,
                         const GroupFit &fit) {
  const SlotLayout &layout = tile.layout;
  Value to;
  auto copyRow = [&](Value row) {
    tile.loop(tile.valueLane, tile.index(layout.groupColumns()),
              tile.schedule.valueLanes, {},
              [&](Value column, ValueRange) -> SmallVector<Value> {
                auto copy = [&](const View &from, const View &into) {
                  tile.storeScalar(into, to, column,
                                   tile.loadScalar(from, row, column));
                };
                copy(fit.scale, head.groupScale);
                if (fit.offset)
                  copy(*fit.offset, head.groupOffset);
                return {};
              });
  };
  tile.loop(
      tile.keyLane, tile.index(layout.groupRows()), tile.schedule.keyLanes, {},
      [&](Value row, ValueRange) -> SmallVector<Value> {
        to = row;
        if (!layout.hasPivots()) {
          copyRow(row);
          return {};
        }
        to = head.codes.groupRowOf(tile, row);
        Value isCoded =
            arith::XOrIOp::create(tile.b, head.codes.isPivot(tile, row),
                                  arith::ConstantIntOp::create(tile.b, 1, 1));
        tile.ifTrue(isCoded, [&] { copyRow(row); });
        return {};
      });
}
