//===- RowExchange.cpp - folds first --------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowExchange.h"

using namespace mlir;
using namespace decant;

namespace {

using Predicate = arith::CmpIPredicate;

/// What an early block says.
constexpr int kKeeps = 1, kTakes = 2;
constexpr int64_t kFillWord = 1; // of a header

class RowExchange {
public:
  RowExchange(LaneTile &tile, const PooledRows &pooled)
      : t(tile), pooled(pooled) {}

  Value rowFor(Value row) {
    const int exchange = t.schedule.exchange;
    const int64_t heads = t.layout.valueHeads;
    Value blocks = BlocksOp::create(t.b);
    Value rows = arith::DivUIOp::create(t.b, blocks, t.index(heads));
    Value half = arith::DivUIOp::create(t.b, rows, t.index(2));
    Value reach = arith::MinUIOp::create(t.b, half, t.index(exchange / heads));
    Value distance = arith::SubIOp::create(t.b, rows, reach);
    Value many = compare(Predicate::uge, blocks, t.index(exchange));
    Value early = both(many, compare(Predicate::ult, row, reach));
    Value late = both(many, compare(Predicate::uge, row, distance));
    Value partner = arith::SelectOp::create(
        t.b, early, t.add(row, distance),
        arith::SubIOp::create(t.b, row, distance).getResult());
    Value exchanged = choose(
        arith::OrIOp::create(t.b, early, late),
        [&] { return isExchanged(early, slotOf(row), slotOf(partner)); },
        [&] { return no(); });
    return UniformOp::create(
        t.b, arith::SelectOp::create(t.b, exchanged, partner, row));
  }

private:
  /// Padding rows, which have no slot, exchange nothing.
  Value isExchanged(Value early, Value own, Value other) {
    auto ofPair = [&] {
      return choose(
          early, [&] { return ofEarly(headerOf(own), headerOf(other)); },
          [&] { return ofLate(headerOf(own)); });
    };
    return choose(both(isThere(own), isThere(other)), ofPair,
                  [&] { return no(); });
  }

  Value ofEarly(Value own, Value other) {
    Value yes = arith::ConstantIntOp::create(t.b, 1, 1);
    Value takes =
        both(isFull(other), arith::XOrIOp::create(t.b, isFull(own), yes));
    Value says =
        arith::SelectOp::create(t.b, takes, word(kTakes), word(kKeeps));
    t.onFirstLane(
        [&] { PostOp::create(t.b, says, pooled.pool, byteOf(other)); });
    return takes;
  }

  Value ofLate(Value own) {
    Value said =
        AwaitOp::create(t.b, t.b.getI32Type(), pooled.pool, byteOf(own));
    t.barrier(); // all lanes know it
    t.onFirstLane(
        [&] { PostOp::create(t.b, word(0), pooled.pool, byteOf(own)); });
    return compare(Predicate::eq, said, word(kTakes));
  }

  Value slotOf(Value row) {
    return memref::LoadOp::create(t.b, pooled.slots,
                                  ValueRange{t.mul(row, pooled.slotsStride)});
  }

  Value headerOf(Value slot) {
    return t.mul(arith::IndexCastOp::create(t.b, t.b.getIndexType(), slot),
                 pooled.poolStride);
  }

  Value isThere(Value slot) { return compare(Predicate::sge, slot, word(0)); }

  /// By the header's word, which may be of this very step already: what is
  /// exchanged is a matter of time only.
  Value isFull(Value header) {
    auto space = cast<MemRefType>(pooled.pool.getType()).getMemorySpace();
    Value words = memref::ViewOp::create(
        t.b,
        MemRefType::get({1, kFillWord + 1}, t.b.getI32Type(),
                        MemRefLayoutAttrInterface(), space),
        pooled.pool, header, ValueRange{});
    Value fill = memref::LoadOp::create(
        t.b, words, ValueRange{t.index(0), t.index(kFillWord)});
    return compare(Predicate::uge, fill, word(t.layout.window - 1));
  }

  Value byteOf(Value header) {
    return t.add(t.add(header, t.index(kExchangeBytes)), t.head);
  }

  using Body = llvm::function_ref<Value()>;
  Value choose(Value condition, Body then, Body otherwise) {
    auto branch = scf::IfOp::create(t.b, TypeRange(t.b.getI1Type()), condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(t.b, then());
    t.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(t.b, otherwise());
    return branch.getResult(0);
  }

  Value compare(Predicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(t.b, predicate, x, y);
  }
  Value both(Value x, Value y) { return arith::AndIOp::create(t.b, x, y); }
  Value word(int value) {
    return arith::ConstantIntOp::create(t.b, value, /*width=*/32);
  }
  Value no() { return arith::ConstantIntOp::create(t.b, 0, /*width=*/1); }

  LaneTile &t;
  const PooledRows &pooled;
};

} // namespace

Value decant::exchangeRow(LaneTile &tile, const PooledRows &pooled, Value row) {
  return RowExchange(tile, pooled).rowFor(row);
}
