//===- TileKernel.cpp - what does one lane hold? --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TileKernel: a block's work becomes the work of one of its lanes.
// In:  kernels with #decant.layout and #decant.schedule.
// Out: kernels of scf, vector, arith, math and memref ops, with `lanes`; of the
//      decant dialect only kernel, block, table, slice, lane, lane_reduce,
//      barrier, scratch and return are left.
//
//===----------------------------------------------------------------------===//

#include "Conversion/ApproximateMath.h"
#include "Tiling/CallVectors.h"
#include "Tiling/FoldFunction.h"
#include "Tiling/HeldState.h"
#include "Tiling/JoinReductions.h"
#include "Tiling/MmaHead.h"
#include "Tiling/RowExchange.h"
#include "Tiling/WindowTile.h"
#include "decant/Compiler/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace decant {
#define GEN_PASS_DEF_TILEKERNEL
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

class KernelTiler {
public:
  KernelTiler(KernelOp source, TargetKind target)
      : source(source), layout(fromAttr(*source.getLayout())),
        schedule(fromAttr(*source.getSchedule())), target(target),
        b(source.getLoc(), source) {}

  LogicalResult run() {
    const bool beyond =
        schedule.strategy == Strategy::Simt &&
        schedule.keyLanes * schedule.keysPerLane != layout.paddedKey;
    if (beyond && !holds())
      return source.emitError("kernel @") << source.getSymName()
                                          << " has lanes beyond the keys; only "
                                             "one that holds its state from "
                                             "reads to a fold can";
    auto kernel = KernelOp::create(
        b, source.getSymName(), source.getArgNames(), HeadsAttr(), InputsAttr(),
        FormatAttr(), *source.getTarget(), LayoutAttr(), ScheduleAttr(),
        b.getDenseI64ArrayAttr({schedule.keyLanes, schedule.valueLanes}),
        schedule.lanes == LaneOrder::ValueFirst);
    // A commit folds and does nothing else: it may have all the registers.
    if (schedule.blocksPerSm > 0 && source.getSymName() != "commit")
      kernel->setAttr("blocks_per_sm",
                      b.getI64IntegerAttr(schedule.blocksPerSm));
    if (schedule.launch == LaunchOrder::Dependent)
      kernel->setAttr("dependent_launch", b.getUnitAttr());
    Block &from = source.getBody().front();
    Block *to = b.createBlock(&kernel.getBody());
    for (BlockArgument argument : from.getArguments())
      mapping.map(argument, to->addArgument(argument.getType(), b.getLoc()));
    LaneTile lane(b, layout, schedule, target);
    tile = &lane;
    if (failed(tileBlock(from)))
      return failure();
    // Sums of tensor cores have no order that other targets repeat: no bits of
    // such a kernel are theirs anyway.
    if (schedule.strategy == Strategy::Mma)
      allowApproximations(kernel);
    // Sums over the lanes of the other axis cross warps.
    if (schedule.lanes == LaneOrder::ValueFirst || !held.empty())
      joinReductions(kernel, VectorAxis::Key);
    source.erase();
    return success();
  }

private:
  LogicalResult tileBlock(Block &block) {
    for (Operation &op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        foldLast();
      if (failed(tileOp(&op)))
        return failure();
    }
    return success();
  }

  LogicalResult tileOp(Operation *op) {
    if (auto block = dyn_cast<BlockOp>(op)) {
      auto copy = cast<BlockOp>(b.clone(*op, mapping));
      copy.setSplit(schedule.split);
      tile->head = copy.getHead();
      // Blocks of a processor run in turn.
      if (schedule.exchange > 0 && target != TargetKind::Cpu &&
          has<MakeRoomOp>())
        return exchangeRows(block, copy.getRow());
    } else if (auto slot = dyn_cast<SlotOp>(op)) {
      tileSlot(slot);
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      mapping.map(load.getResult(), loadInput(*tile, *axisOf(load.getType()),
                                              lookup(load.getSource()),
                                              lookup(load.getOffset())));
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      storeOutput(*tile, *axisOf(store.getVector().getType()),
                  lookup(store.getVector()), lookup(store.getTarget()),
                  lookup(store.getOffset()));
    } else if (auto scale = dyn_cast<ScaleOp>(op)) {
      mapping.map(scale.getResult(), tile->scale(lookup(scale.getVector()),
                                                 lookup(scale.getFactor())));
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      mapping.map(dot.getResult(),
                  tile->dot(lookup(dot.getLhs()), lookup(dot.getRhs()),
                            *axisOf(dot.getLhs().getType())));
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      mapping.map(broadcast.getResult(),
                  tile->splat(lookup(broadcast.getScalar()),
                              tile->vectorOf(*axisOf(broadcast.getType()))));
    } else if (auto read = dyn_cast<WindowReadOp>(op)) {
      SmallVector<Value> vectors;
      for (Value vector : read.getVectors())
        vectors.push_back(lookup(vector));
      HeldState *state = heldOf(read.getStored());
      mapping.map(read.getResults(),
                  ValueRange(mma ? mma->read(vectors)
                             : state
                                 ? state->read(vectors)
                                 : tileWindowRead(*tile, head(read.getStored()),
                                                  vectors)));
    } else if (auto read = dyn_cast<WindowReadKeyOp>(op)) {
      mapping.map(read.getResult(),
                  tileWindowReadKey(*tile, head(read.getStored()),
                                    lookup(read.getVector())));
    } else if (auto carried = dyn_cast<CarriedOp>(op)) {
      const StoredHead &from = head(carried.getStored());
      mapping.map(
          carried.getResult(),
          tile->loadAlong(VectorAxis::Key, from.carried,
                          carriedPlace(from.drafts, carried.getIndex())));
    } else if (auto carry = dyn_cast<CarryOp>(op)) {
      const StoredHead &to = head(carry.getStored());
      Value place = to.drafts ? tile->add(to.drafts, tile->index(1)) : Value();
      if (!place)
        tile->barrier(); // other lanes may still be reading it
      tile->storeAlong(VectorAxis::Key, to.carried,
                       carriedPlace(place, carry.getIndex()),
                       lookup(carry.getVector()));
    } else if (auto after = dyn_cast<AfterOp>(op)) {
      tileAfter(after);
    } else if (auto accept = dyn_cast<AcceptOp>(op)) {
      head(accept.getStored()).accept(*tile, lookup(accept.getCount()));
    } else if (auto append = dyn_cast<AppendOp>(op)) {
      const StoredHead &to = head(append.getStored());
      started = mma ? mma->window() : to.start(*tile);
      tileAppend(*tile, to, *started, updateOf(append));
    } else if (auto fold = dyn_cast<FoldOp>(op)) {
      if (HeldState *state = heldOf(fold.getStored()))
        state->fold(updateOf(fold));
      else
        tileFoldOp(head(fold.getStored()), updateOf(fold));
    } else if (auto room = dyn_cast<MakeRoomOp>(op)) {
      if (Value tokens = room.getTokens())
        tileMakeRoomFor(head(room.getStored()), lookup(tokens));
      else
        tileMakeRoom(head(room.getStored()));
    } else if (auto fill = dyn_cast<FillOp>(op)) {
      mapping.map(fill.getResult(),
                  arith::IndexCastUIOp::create(
                      b, b.getI64Type(), head(fill.getStored()).fill(*tile)));
    } else if (auto pack = dyn_cast<PackOp>(op)) {
      tilePack(*tile, head(pack.getSlot()), denseOf(pack));
    } else if (auto unpack = dyn_cast<UnpackOp>(op)) {
      tileUnpack(*tile, head(unpack.getSlot()), denseOf(unpack));
    } else if (auto touch = dyn_cast<TouchHeaderOp>(op)) {
      tileTouchHeader(touch);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      return tileIf(branch);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      return tileTokens(loop);
    } else {
      return tileElementwise(op);
    }
    return success();
  }

  Value lookup(Value value) { return mapping.lookup(value); }
  const StoredHead &head(Value slot) { return *heads.find(slot)->second; }

  HeldState *heldOf(Value slot) {
    auto found = held.find(slot);
    return found == held.end() ? nullptr : &found->second;
  }
  bool holds() {
    return holdsState(schedule, layout) && !readsKeys() && has<FoldOp>();
  }

  /// Reads along the value axis go through memory.
  bool readsKeys() { return has<WindowReadKeyOp>(); }

  template <typename... Ops> bool has() {
    return source
        .walk([](Operation *op) {
          return isa<Ops...>(op) ? WalkResult::interrupt()
                                 : WalkResult::advance();
        })
        .wasInterrupted();
  }

  template <typename Op> TokenUpdate updateOf(Op op) {
    TokenUpdate update;
    if (op.getKeyDecay())
      update.keyDecay = lookup(op.getKeyDecay());
    if (op.getValueDecay())
      update.valueDecay = lookup(op.getValueDecay());
    for (auto [key, value] : llvm::zip(op.getKeys(), op.getValues())) {
      update.keys.push_back(lookup(key));
      update.values.push_back(lookup(value));
    }
    return update;
  }

  template <typename Op> DenseState denseOf(Op op) {
    return {lookup(op.getDense()), lookup(op.getOffset()),
            lookup(op.getKeyStride()), lookup(op.getValueStride())};
  }

  LogicalResult tileIf(scf::IfOp branch) {
    auto copy =
        scf::IfOp::create(b, lookup(branch.getCondition()),
                          /*withElseRegion=*/!branch.getElseRegion().empty());
    auto tileRegion = [&](mlir::Region &from, mlir::Region &to) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&to.front());
      for (Operation &op : from.front().without_terminator())
        if (failed(tileOp(&op)))
          return failure();
      foldLast();
      return success();
    };
    if (failed(tileRegion(branch.getThenRegion(), copy.getThenRegion())))
      return failure();
    return branch.getElseRegion().empty()
               ? success()
               : tileRegion(branch.getElseRegion(), copy.getElseRegion());
  }

  /// Arith and math ops work on a lane's elements as they did on the tensor's.
  LogicalResult tileElementwise(Operation *op) {
    auto laneType = [&](Type type) -> Type {
      auto tensor = dyn_cast<RankedTensorType>(type);
      auto axis =
          tensor ? dyn_cast_or_null<AxisAttr>(tensor.getEncoding()) : nullptr;
      return axis
                 ? tile->vectorOf(axis.getAxis()).clone(tensor.getElementType())
                 : type;
    };
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (isa<RankedTensorType>(constant.getType())) {
        auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        if (!dense || !dense.isSplat())
          return op->emitError(
              "only a constant whose elements all are equal can "
              "be spread over lanes");
        auto type = cast<VectorType>(laneType(constant.getType()));
        mapping.map(constant.getResult(),
                    arith::ConstantOp::create(
                        b, DenseElementsAttr::get(
                               type, dense.getSplatValue<Attribute>())));
        return success();
      }
    Operation *copy = b.clone(*op, mapping);
    for (OpResult result : copy->getResults()) {
      const Type type = laneType(result.getType());
      if (isa<TensorType>(type))
        return op->emitError("has a result that no lane can hold: ") << type;
      result.setType(type);
    }
    return success();
  }

  /// A read needs everything that the head holds: its loads go out first.
  void tileSlot(SlotOp slot) {
    const StoredHead &stored =
        *(heads[slot.getResult()] = std::make_unique<StoredHead>(
              *tile, lookup(slot.getPool()), lookup(slot.getOffset())));
    // Before the inputs: its loads take the longest.
    if (holds())
      held.try_emplace(slot.getResult(), *tile, stored);
    if (schedule.strategy != Strategy::Mma || readsDrafts())
      return;
    startMma(stored);
    if (mmaUse().vectors > 0)
      mma->load();
  }

  LogicalResult exchangeRows(BlockOp block, Value row) {
    Value found[4];
    const StringRef names[] = {"state", "state_stride", "slots",
                               "slots_stride"};
    for (auto [name, value] : llvm::zip(names, found)) {
      for (auto [other, argument] :
           llvm::zip(source.getArgNames().getAsValueRange<StringAttr>(),
                     source.getBody().getArguments()))
        if (other == name)
          value = lookup(argument);
      if (!value)
        return source.emitError("kernel @")
               << source.getSymName() << " exchanges rows and has no argument "
               << name;
      if (value.getType().isInteger())
        value = arith::IndexCastOp::create(b, b.getIndexType(), value);
    }
    mapping.map(
        block.getRow(),
        exchangeRow(*tile, {found[0], found[1], found[2], found[3]}, row));
    return success();
  }

  MmaUse mmaUse() {
    MmaUse use;
    source.walk([&](Operation *op) {
      if (auto read = dyn_cast<WindowReadOp>(op))
        use.vectors = std::max<int>(use.vectors, read.getVectors().size());
      use.folds |= isa<FoldOp>(op);
    });
    return use;
  }

  void startMma(const StoredHead &stored) {
    mma.emplace(*tile, stored, allocateShared(*tile), mmaUse());
  }

  bool readsDrafts() { return has<AfterOp, AcceptOp>(); }

  /// One token's view of the window.
  void tileAfter(AfterOp after) {
    const StoredHead &stored =
        *(heads[after.getResult()] = std::make_unique<StoredHead>(
              head(after.getStored()).after(lookup(after.getDrafts()))));
    if (mma)
      mma->loadToken(stored);
  }

  /// The loop over a row's tokens. What all of them read on tensor cores is
  /// loaded before it.
  LogicalResult tileTokens(scf::ForOp loop) {
    auto views = loop.getBody()->getOps<AfterOp>();
    if (!views.empty() && schedule.strategy == Strategy::Mma) {
      startMma(head((*views.begin()).getStored()));
      mma->loadState();
    }
    auto copy = scf::ForOp::create(b, lookup(loop.getLowerBound()),
                                   lookup(loop.getUpperBound()),
                                   lookup(loop.getStep()));
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(copy.getBody());
    for (Operation &op : loop.getBody()->without_terminator())
      if (failed(tileOp(&op)))
        return failure();
    // The next token reads what this one leaves, and reuses its scratch.
    if (!views.empty())
      tile->barrier();
    return success();
  }

  /// `place` of the vectors that lie beside the state; null: the accepted ones.
  Value carriedPlace(Value place, int64_t number) {
    Value first = tile->index(number);
    return place
               ? tile->add(tile->mul(place, tile->index(layout.record.carried)),
                           first)
               : first;
  }

  void tileFoldOp(const StoredHead &head, const TokenUpdate &update) {
    if (!mma)
      return tileFold(*tile, head, update);
    if (schedule.boundary == Boundary::Step && layout.window > 1)
      return callFold(*tile, source, target, head);
    if (!mma->isLoaded()) // a commit, which reads nothing else
      mma->load();
    mma->fold(update);
    if (layout.window == 1)
      head.addToken(*tile);
  }

  void tileMakeRoom(const StoredHead &head) {
    if (schedule.boundary == Boundary::Apart)
      return;
    Value full = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                       tile->add(started->fill, tile->index(1)),
                                       tile->index(layout.window));
    if (mma) {
      last = {&head, full};
      return;
    }
    tile->ifTrue(full, [&] {
      tile->barrier(); // the token's records are there
      tileFold(*tile, head, {});
    });
  }

  /// Before a step's tokens, of which none may be folded: it comes first.
  void tileMakeRoomFor(const StoredHead &head, Value tokens) {
    if (schedule.boundary == Boundary::Apart)
      return;
    Value full = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt,
                                       tile->add(head.fill(*tile), tokens),
                                       tile->index(layout.window));
    tile->ifTrue(full, [&] {
      if (schedule.strategy == Strategy::Mma)
        callFold(*tile, source, target, head);
      else
        tileFold(*tile, head, {});
      tile->barrier(); // the new checkpoint is there
    });
  }

  /// A fold that make_room asked for is the last thing a lane does: what it
  /// would need afterwards would take registers from the fold.
  void foldLast() {
    if (!last.head)
      return;
    tile->ifTrue(last.full, [&] {
      tile->barrier(); // the token's records are there
      mma->endArrival();
      callFold(*tile, source, target, *last.head);
    });
    last = {};
  }

  /// Words of the header: version, fill, tokens. All heads count alike, so head
  /// 0 speaks for the slot.
  void tileTouchHeader(TouchHeaderOp touch) {
    Value isFirst = arith::CmpIOp::create(
        b, arith::CmpIPredicate::eq, lookup(touch.getHead()), tile->index(0));
    tile->ifTrue(isFirst, [&] {
      tile->onFirstLane([&] {
        HeldState *state = heldOf(touch.getSlot());
        head(touch.getSlot())
            .copyCursor(*tile, lookup(touch.getPool()),
                        lookup(touch.getHeader()),
                        state ? state->tokenCount() : Value(), last.full);
      });
    });
  }

  KernelOp source;
  SlotLayout layout;
  Schedule schedule;
  TargetKind target;
  ImplicitLocOpBuilder b;
  IRMapping mapping;
  LaneTile *tile = nullptr;
  llvm::MapVector<Value, std::unique_ptr<StoredHead>> heads;
  std::optional<WindowStart> started;     // the window before the append
  llvm::MapVector<Value, HeldState> held; // those that stay in registers
  std::optional<MmaHead> mma;
  struct {
    const StoredHead *head = nullptr;
    Value full; // whether the window is
  } last;       // fold
};

struct TileKernelPass : public decant::impl::TileKernelBase<TileKernelPass> {
  void runOnOperation() override {
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      if (!kernel.getSchedule() || !kernel.getLayout()) {
        kernel.emitError(
            "has no #decant.schedule; decant-assign-schedule comes "
            "before decant-tile-kernel");
        return signalPassFailure();
      }
      const bool cpu = kernel.getTarget()->getName() == "x86-64";
      if (failed(KernelTiler(kernel, cpu ? TargetKind::Cpu : TargetKind::Nvidia)
                     .run()))
        return signalPassFailure();
    }
  }
};

} // namespace
