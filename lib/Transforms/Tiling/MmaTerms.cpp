//===- MmaTerms.cpp - the decays of terms on tensor cores -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaHead.h"

#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

constexpr int kWarp = 32;
/// Each share loads all decays.
constexpr int kMostDecayShares = 2;
constexpr int kMostTokensTogether = 16;

} // namespace

void MmaHead::finishTerms(Value keyDecay, Value fill) {
  // A read of window 1 is under no decay.
  const bool isVector = layout.record.keyDecay == DecayShape::Vector;
  if (!isVector || !keyDecay)
    return;
  t.storeAlong(VectorAxis::Key, totalDecay, t.index(0), keyDecay);
  CopyWaitOp::create(t.b);
  t.barrier();
  decayKeys(fill);
}

/// A thread takes two keys through its share of the terms. The newest records
/// come first, and none waits for another's loads: the decays are multiplied up
/// as if the window were full, by 1 where it is not.
void MmaHead::decayKeys(Value fill) {
  constexpr int kKeys = 2;
  const int pairs = layout.paddedKey / kKeys;
  // As many shares as there are threads for them.
  const int shares = std::clamp(warp.threads / pairs, 1, kMostDecayShares);
  warp.forElements(shares * pairs, [&](Value place, Value inside) {
    Value share = arith::DivUIOp::create(t.b, place, t.index(pairs));
    Value key = t.mul(arith::RemUIOp::create(t.b, place, t.index(pairs)),
                      t.index(kKeys));
    for (int s = 0; s < shares; ++s) {
      Value mine = shares > 1 ? warp.equal(share, s) : inside;
      if (shares > 1 && inside)
        mine = arith::AndIOp::create(t.b, mine, inside);
      t.ifTrue(mine, [&] { decayShare(key, s, shares, fill); });
    }
  });
}

/// Every `shares`-th of the terms.
void MmaHead::decayShare(Value key, int share, int shares, Value fill) {
  constexpr int kKeys = 2;
  const int writes = layout.record.writes;
  auto scaleTerm = [&](Value row, Value factor) {
    Value x = t.mul(t.load(termKeys, row, key, kKeys), factor);
    if (!keyRests.memref)
      return warp.storeRaw(termKeys, row, key, warp.halves(x, termType));
    auto [high, rest] = warp.split(x, termType);
    warp.storeRaw(termKeys, row, key, high);
    warp.storeRaw(keyRests, row, key, rest);
  };
  Value total = t.load(totalDecay, t.index(0), key, kKeys);
  for (int r = share; r < layout.compensators; r += shares)
    scaleTerm(t.index(records + r), total);
  if (layout.window == 1)
    return;
  const Value one = t.splat(t.f32(1), t.vectorOf(int64_t(kKeys)));
  const int together = layout.window <= kMostTokensTogether
                           ? layout.window
                           : std::gcd(layout.window, kMostTokensTogether);
  auto scaleTokens = [&](Value first, Value since) {
    for (int i = together - 1; i >= 0; --i) {
      Value token = t.add(first, t.index(i));
      if (i % shares == share)
        for (int n = 0; n < writes; ++n)
          scaleTerm(t.add(t.mul(token, t.index(writes)), t.index(n)), since);
      Value decay = t.load(decayPanel, token, key, kKeys);
      since = t.mul(since, arith::SelectOp::create(t.b, warp.less(token, fill),
                                                   decay, one));
    }
    return since;
  };
  if (together == layout.window) {
    scaleTokens(t.index(0), one);
    return;
  }
  Value groups = arith::CeilDivUIOp::create(t.b, fill, t.index(together));
  t.loop(t.index(0), groups, 1, {one}, [&](Value i, ValueRange since) {
    Value behind = arith::SubIOp::create(t.b, groups, t.add(i, t.index(1)));
    return SmallVector<Value>{
        scaleTokens(t.mul(behind, t.index(together)), since[0])};
  });
}

/// The decays of the tokens behind a lane's, for decaysSince(). Those that do
/// not count are loaded too, so that no load waits for the fill.
SmallVector<Value> MmaHead::loadDecays() {
  const int each = llvm::divideCeil(layout.window, kWarp);
  Value first = t.mul(t.keyLane, t.index(each));
  SmallVector<Value> decays;
  for (int i = 0; i < each; ++i) {
    Value place = arith::MinUIOp::create(t.b, t.add(first, t.index(i + 1)),
                                         t.index(layout.window - 1));
    decays.push_back(t.loadScalar(head.recordKeyDecay, place, t.index(0)));
  }
  return decays;
}

/// The decays since the records of some tokens that follow one another, as many
/// as it takes for a warp to have the window: suffix products, in the lane and
/// over the lanes.
SmallVector<Value> MmaHead::decaysSince(Value fill) {
  const SmallVector<Value> decays =
      loaded->decays.empty() ? loadDecays() : loaded->decays;
  const int each = decays.size();
  Value first = t.mul(t.keyLane, t.index(each));
  SmallVector<Value> since(each);
  for (int i = each - 1; i >= 0; --i) {
    Value later = t.add(first, t.index(i + 1));
    Value counts = warp.less(later, fill);
    Value decay = arith::SelectOp::create(t.b, counts, decays[i], t.f32(1));
    since[i] = i + 1 < each ? t.mul(decay, since[i + 1]) : decay;
  }
  auto further = [&](Value product, int64_t distance) -> Value {
    Value shifted =
        LaneShiftOp::create(t.b, t.b.getF32Type(), product, distance);
    Value exists = warp.less(t.keyLane, t.index(kWarp - distance));
    return arith::SelectOp::create(t.b, exists, shifted, t.f32(1));
  };
  for (int64_t distance = 1; distance * each < layout.window; distance *= 2)
    since[0] = t.mul(since[0], further(since[0], distance));
  if (each > 1) {
    Value rest = further(since[0], 1);
    for (int i = 1; i < each; ++i)
      since[i] = t.mul(since[i], rest);
  }
  return since;
}

void MmaHead::weighTerms(Value keyDecay, Value fill) {
  const bool isScalar = layout.record.keyDecay == DecayShape::Scalar;
  const int writes = layout.record.writes;
  Value total = isScalar && keyDecay ? keyDecay : t.f32(1);
  Value ofCompensators = total;
  if (scalesTerms())
    ofCompensators = t.mul(t.mul(total, loaded->compScale),
                           t.f32(powerAbove(layout.compKeys.type)));
  // The thread that has a compensator's number has its scale.
  auto weigh = [&](int first, int end, Value weight, Value thread,
                   int threads) {
    for (int row = first; row < end; row += threads) {
      Value at = t.add(thread, t.index(row));
      t.ifTrue(warp.less(at, t.index(end)),
               [&] { t.storeScalar(weights, t.index(0), at, weight); });
    }
  };
  auto weighRest = [&](int first, Value thread, int threads) {
    if (!scalesTerms())
      return weigh(first, allRows, total, thread, threads);
    weigh(first, records, total, thread, threads);
    weigh(records, readRows, ofCompensators, thread, threads);
    weigh(readRows, allRows, total, thread, threads);
  };
  if (isScalar && layout.window > 1) {
    const SmallVector<Value> since = decaysSince(fill);
    t.ifTrue(warp.less(warp.thread, t.index(kWarp)), [&] {
      Value first = t.mul(t.keyLane, t.index(since.size()));
      for (size_t i = 0; i < since.size(); ++i) {
        Value token = t.add(first, t.index(i));
        t.ifTrue(warp.less(token, t.index(layout.window)), [&] {
          Value row = t.mul(token, t.index(writes));
          for (int n = 0; n < writes; ++n)
            t.storeScalar(weights, t.index(0), t.add(row, t.index(n)),
                          since[i]);
        });
      }
      weighRest(layout.window * writes, t.keyLane, kWarp);
    });
    return;
  }
  // Terms of the step itself are under no decay.
  if (isScalar && keyDecay) {
    weigh(0, records, t.f32(1), warp.thread, warp.threads);
    weighRest(records, warp.thread, warp.threads);
  } else {
    weighRest(0, warp.thread, warp.threads);
  }
}
