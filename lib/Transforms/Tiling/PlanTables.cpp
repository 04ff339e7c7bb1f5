//===- PlanTables.cpp - a layer's own numbers, in kernels -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTables.h"

#include <cmath>

using namespace mlir;
using namespace decant;

namespace {

/// The bits of two f32 in every entry.
SmallVector<int64_t> packed(ArrayRef<float> numbers) {
  SmallVector<int64_t> entries;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const uint64_t low = llvm::bit_cast<uint32_t>(numbers[i]);
    const uint64_t high =
        i + 1 < numbers.size() ? llvm::bit_cast<uint32_t>(numbers[i + 1]) : 0;
    entries.push_back(int64_t(low | high << 32));
  }
  return entries;
}

Value ofTable(LaneTile &tile, ArrayRef<float> numbers, Value at) {
  ImplicitLocOpBuilder &b = tile.b;
  Value pair = TableOp::create(b, b.getIndexType(), packed(numbers),
                               arith::DivUIOp::create(b, at, tile.index(2)));
  Value shift =
      tile.mul(arith::RemUIOp::create(b, at, tile.index(2)), tile.index(32));
  Value bits = arith::IndexCastOp::create(
      b, b.getI32Type(), arith::ShRUIOp::create(b, pair, shift));
  return arith::BitcastOp::create(b, b.getF32Type(), bits);
}

} // namespace

Value decant::rowWeight(LaneTile &tile, Value row, double power) {
  const SlotLayout &layout = tile.layout;
  if (layout.tables.weights.empty())
    return {};
  std::vector<float> powers;
  for (float weight : layout.tables.weights)
    powers.push_back(float(std::pow(double(weight), power)));
  return ofTable(tile, powers,
                 tile.add(tile.mul(tile.head, tile.index(layout.keyDim)), row));
}

View decant::staticGroups(LaneTile &tile) {
  const SlotLayout &layout = tile.layout;
  const int64_t width = layout.groupColumns();
  const int64_t each = layout.keyDim * width;
  // Heads of a cluster have the same scales: those of each cluster once.
  const std::vector<float> &all = layout.tables.scales;
  std::vector<float> clusters;
  SmallVector<int64_t> clusterOf;
  for (int head = 0; head < layout.valueHeads; ++head) {
    const auto first = all.begin() + head * each;
    int64_t cluster = 0;
    const int64_t count = int64_t(clusters.size()) / each;
    while (cluster < count &&
           !std::equal(first, first + each, clusters.begin() + cluster * each))
      ++cluster;
    if (cluster == count)
      clusters.insert(clusters.end(), first, first + each);
    clusterOf.push_back(cluster);
  }
  Value cluster =
      TableOp::create(tile.b, tile.b.getIndexType(), clusterOf, tile.head);
  View groups = tile.scratch(layout.groupRows(), width);
  tile.loop(
      tile.keyLane, tile.index(layout.groupRows()), tile.schedule.keyLanes, {},
      [&](Value row, ValueRange) -> SmallVector<Value> {
        // Codes of padding are 0, under any scale that is a number.
        Value own =
            arith::MinUIOp::create(tile.b, row, tile.index(layout.keyDim - 1));
        Value first = tile.add(tile.mul(cluster, tile.index(each)),
                               tile.mul(own, tile.index(width)));
        tile.loop(tile.valueLane, tile.index(width), tile.schedule.valueLanes,
                  {}, [&](Value column, ValueRange) -> SmallVector<Value> {
                    Value scale =
                        ofTable(tile, clusters, tile.add(first, column));
                    tile.storeScalar(groups, row, column, scale);
                    return {};
                  });
        return {};
      });
  tile.barrier();
  return groups;
}
