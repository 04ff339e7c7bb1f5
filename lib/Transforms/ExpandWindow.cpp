//===- ExpandWindow.cpp - when is the stored state touched? ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ExpandWindow: turns one token's rule into reads and appends of a window.
// In:  one decant.decode.
// Out: kernels @step and, for windows longer than one token, @commit; with
//      several tokens per step @accept; or @pack and @unpack. No
//      #decant.window.
//
// With several tokens per step, @step is still what one of them does: number
// %token of the row's %tokens. It leaves a draft, which @accept makes a token
// of the window.
//
//===----------------------------------------------------------------------===//

#include "Decant/Decant.h"
#include "decant/Compiler/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace decant {
#define GEN_PASS_DEF_EXPANDWINDOW
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

/// S = keyDecay o S0 o valueDecay + sum keys_n values_n^T; a null decay is 1.
struct SymbolicState {
  Value keyDecay, valueDecay;
  SmallVector<Value> keys, values;
};

/// x y for any mix of f32 and vectors of one axis; a null factor is 1.
Value multiply(OpBuilder &builder, Location loc, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  if (x.getType() == y.getType())
    return arith::MulFOp::create(builder, loc, x, y);
  if (x.getType().isF32())
    std::swap(x, y);
  return ScaleOp::create(builder, loc, x.getType(), x, y);
}

/// Rewrites the rule's ops while tracking what each state value stands for.
class RuleWalk {
public:
  RuleWalk(OpBuilder &builder, IRMapping &mapping, Value window)
      : builder(builder), mapping(mapping), window(window) {}

  /// `initial` is the rule's own state argument.
  SymbolicState run(Block &rule, Value initial) {
    states[initial] = {};
    for (Operation &op : rule.without_terminator())
      visit(&op);
    return states[cast<YieldOp>(rule.getTerminator()).getState()];
  }

private:
  void visit(Operation *op) {
    const Location loc = op->getLoc();
    if (auto decay = dyn_cast<DecayOp>(op)) {
      SymbolicState state = states[decay.getState()];
      Value factor = mapping.lookup(decay.getFactor());
      const bool onValues = isVectorOf(factor.getType(), VectorAxis::Value);
      Value &total = onValues ? state.valueDecay : state.keyDecay;
      total = multiply(builder, loc, total, factor);
      for (Value &term : onValues ? state.values : state.keys)
        term = multiply(builder, loc, term, factor);
      states[decay.getResult()] = state;
    } else if (auto write = dyn_cast<WriteOp>(op)) {
      SymbolicState state = states[write.getState()];
      state.keys.push_back(mapping.lookup(write.getKey()));
      state.values.push_back(mapping.lookup(write.getValue()));
      states[write.getResult()] = state;
    } else if (auto read = dyn_cast<ReadOp>(op)) {
      mapping.map(read.getResult(), expandRead(read));
    } else if (auto read = dyn_cast<ReadKeyOp>(op)) {
      mapping.map(read.getResult(), expandReadKey(read));
    } else {
      builder.clone(*op, mapping);
    }
  }

  /// Before: %o = decant.read %S, %x
  /// After:  %y = decant.window_read %w, Da o %x
  ///         %o = Db o %y + sum_n u_n (k_n . %x)
  Value expandRead(ReadOp read) {
    const SymbolicState &state = states[read.getState()];
    return expandReadAlong<WindowReadOp>(read, state.keyDecay, state.valueDecay,
                                         state.keys, state.values);
  }

  /// Before: %o = decant.read_key %S, %x
  /// After:  %y = decant.window_read_key %w, Db o %x
  ///         %o = Da o %y + sum_n k_n (u_n . %x)
  Value expandReadKey(ReadKeyOp read) {
    const SymbolicState &state = states[read.getState()];
    return expandReadAlong<WindowReadKeyOp>(
        read, state.valueDecay, state.keyDecay, state.values, state.keys);
  }

  /// `summed` are the terms' vectors along the axis that is summed over.
  template <typename WindowOp, typename Op>
  Value expandReadAlong(Op read, Value decayOfSummed, Value decayOfResult,
                        ArrayRef<Value> summed, ArrayRef<Value> results) {
    const Location loc = read.getLoc();
    Value x = mapping.lookup(read.getVector());
    Value folded = multiply(builder, loc, x, decayOfSummed);
    Value result =
        WindowOp::create(builder, loc, read.getType(), window, folded)
            ->getResult(0);
    result = multiply(builder, loc, result, decayOfResult);
    for (auto [from, to] : llvm::zip(summed, results)) {
      Value weight = DotOp::create(builder, loc, builder.getF32Type(), from, x);
      result = arith::AddFOp::create(builder, loc, result,
                                     multiply(builder, loc, to, weight));
    }
    return result;
  }

  OpBuilder &builder;
  IRMapping &mapping;
  Value window;
  llvm::DenseMap<Value, SymbolicState> states;
};

/// The ops of `block` that compute `value`, in block order.
SetVector<Operation *> producersOf(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(value, &slice, options);
  return slice;
}

/// Merges window reads that do not need one another's results: their operands
/// are computed before the first of them, so that one pass serves all.
void shareReads(Block &block) {
  SmallVector<WindowReadOp> pending(block.getOps<WindowReadOp>());
  while (!pending.empty()) {
    WindowReadOp first = pending.front();
    SmallVector<WindowReadOp> group, later;
    for (WindowReadOp read : pending) {
      SetVector<Operation *> producers = producersOf(read.getVectors()[0]);
      const bool independent =
          read == first || llvm::none_of(producers, [&](Operation *op) {
            return llvm::is_contained(pending, dyn_cast<WindowReadOp>(op));
          });
      (independent ? group : later).push_back(read);
      if (independent)
        for (Operation *op : producers)
          if (op->getBlock() == &block && first->isBeforeInBlock(op))
            op->moveBefore(first);
    }
    SmallVector<Value> vectors;
    SmallVector<Type> types;
    for (WindowReadOp read : group) {
      vectors.push_back(read.getVectors()[0]);
      types.push_back(read.getType(0));
    }
    OpBuilder builder(first);
    auto shared = WindowReadOp::create(builder, first.getLoc(), types,
                                       first.getStored(), vectors);
    for (auto [read, result] : llvm::zip(group, shared.getResults())) {
      read.getResult(0).replaceAllUsesWith(result);
      read.erase();
    }
    pending = later;
  }
}

DecayKind kindOf(Value decay) {
  if (!decay)
    return DecayKind::None;
  return decay.getType().isF32() ? DecayKind::Scalar : DecayKind::Vector;
}

class WindowExpander {
public:
  explicit WindowExpander(DecodeOp decode)
      : decode(decode), builder(decode), loc(decode.getLoc()) {}

  void makeDecodeKernels() {
    KernelOp step = makeStep();
    const Type window = step.getBody().getArgument(0).getType();
    if (decode.getWindow().getLength() > 1)
      makeCommit(window);
    if (hasDrafts())
      makeAccept(window);
  }

  void makeTransferKernels() {
    // What a token adds is part of the window's type, and walking the rule is
    // what finds it.
    KernelOp step = makeStep();
    const Type type = step.getBody().getArgument(0).getType();
    step.erase();
    const Type state = decode.getBody().getArgument(0).getType();

    KernelOp unpack = makeKernel("unpack", type, {});
    OpBuilder body = OpBuilder::atBlockEnd(&unpack.getBody().front());
    Value rebuilt =
        RebuildOp::create(body, loc, state, unpack.getBody().getArgument(0));
    ReturnOp::create(body, loc, rebuilt);

    KernelOp pack = makeKernel("pack", type, {{"dense", state}});
    body.setInsertionPointToEnd(&pack.getBody().front());
    ReplaceOp::create(body, loc, pack.getBody().getArgument(0),
                      pack.getBody().getArgument(1));
    ReturnOp::create(body, loc, ValueRange{});
  }

private:
  struct Argument {
    std::string name;
    Type type;
    RuleInput::Source source = RuleInput::Row;
  };

  RuleInput::Source source(BlockArgument argument) {
    return sourceOf(decode.getArgRoles(), argument.getArgNumber());
  }
  bool hasDrafts() { return decode.getWindow().getTokens() > 1; }

  SmallVector<Argument> decodeArguments() {
    SmallVector<Argument> arguments;
    if (hasDrafts())
      for (const char *name : {"token", "tokens"})
        arguments.push_back({name, builder.getIndexType()});
    for (auto [argument, name] : llvm::drop_begin(
             llvm::zip(decode.getBody().getArguments(),
                       decode.getArgNames().getAsValueRange<StringAttr>())))
      if (source(argument) != RuleInput::Carried)
        arguments.push_back({name.str(), argument.getType(), source(argument)});
    return arguments;
  }

  YieldOp yield() {
    return cast<YieldOp>(decode.getBody().front().getTerminator());
  }

  WindowType windowType(const SymbolicState &state) {
    auto dims = cast<StateType>(decode.getBody().getArgument(0).getType());
    WindowAttr window = decode.getWindow();
    return WindowType::get(
        decode.getContext(), dims.getKeyDim(), dims.getValueDim(),
        window.getLength(), window.getCompensators(), window.getRecords(),
        state.keys.size(), kindOf(state.keyDecay), kindOf(state.valueDecay),
        yield().getCarried().size(), window.getTokens());
  }

  KernelOp makeStep() {
    const int64_t length = decode.getWindow().getLength();
    // The window's type says what a token adds, which the walk finds out: start
    // with a placeholder and set the argument's type at the end.
    KernelOp step = makeKernel("step", windowType({}), decodeArguments());
    Block &block = step.getBody().front();
    IRMapping mapping;
    Block &rule = decode.getBody().front();
    OpBuilder body = OpBuilder::atBlockEnd(&block);
    Value window = block.getArgument(0);
    unsigned next = 1, carried = 0;
    if (hasDrafts()) {
      Value token = block.getArgument(next++),
            tokens = block.getArgument(next++);
      MakeRoomOp::create(body, loc, window, tokens);
      window = AfterOp::create(body, loc, window, token);
    }
    for (BlockArgument from : llvm::drop_begin(rule.getArguments())) {
      Value to;
      if (source(from) == RuleInput::Carried)
        to = CarriedOp::create(body, loc, from.getType(), window, carried++);
      else
        to = block.getArgument(next++);
      mapping.map(from, to);
    }
    SymbolicState state =
        RuleWalk(body, mapping, window).run(rule, rule.getArgument(0));
    for (auto [index, vector] : llvm::enumerate(yield().getCarried()))
      CarryOp::create(body, loc, window, index, mapping.lookup(vector));
    if (length > 1) {
      AppendOp::create(body, loc, window, state.keyDecay, state.valueDecay,
                       state.keys, state.values);
      if (!hasDrafts())
        MakeRoomOp::create(body, loc, window, Value());
    } else {
      FoldOp::create(body, loc, window, state.keyDecay, state.valueDecay,
                     state.keys, state.values);
    }
    ReturnOp::create(body, loc, mapping.lookup(yield().getOutput()));
    shareReads(block);
    for (Value each : {window, Value(block.getArgument(0))})
      each.setType(windowType(state));
    return step;
  }

  /// An empty kernel @name(%window, arguments...) that carries the questions
  /// which later passes answer.
  KernelOp makeKernel(StringRef name, Type window,
                      ArrayRef<Argument> arguments) {
    SmallVector<Type> types = {window};
    SmallVector<StringRef> names = {"window"};
    SmallVector<RuleInput::Source> sources = {RuleInput::Row};
    for (const Argument &argument : arguments) {
      names.push_back(argument.name);
      types.push_back(argument.type);
      sources.push_back(argument.source);
    }
    auto kernel = KernelOp::create(
        builder, loc, name, builder.getStrArrayAttr(names), decode.getHeads(),
        decode.getInputs(), decode.getFormat(), decode.getTarget(),
        LayoutAttr(), ScheduleAttr(), DenseI64ArrayAttr());
    if (ArrayAttr roles = rolesAttr(decode.getContext(), sources))
      kernel.setArgRolesAttr(roles);
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&kernel.getBody(), {}, types,
                        SmallVector<Location>(types.size(), loc));
    return kernel;
  }

  void makeAccept(Type window) {
    KernelOp accept =
        makeKernel("accept", window, {{"accepted", builder.getIndexType()}});
    Block &block = accept.getBody().front();
    OpBuilder body = OpBuilder::atBlockEnd(&block);
    AcceptOp::create(body, loc, block.getArgument(0), block.getArgument(1));
    ReturnOp::create(body, loc, ValueRange{});
  }

  /// With several tokens per step, `tokens` more than the window holds decide.
  void makeCommit(Type window) {
    SmallVector<Argument> arguments = {{"min_fill", builder.getI64Type()}};
    if (hasDrafts())
      arguments.push_back({"tokens", builder.getIndexType()});
    KernelOp commit = makeKernel("commit", window, arguments);
    Block &block = commit.getBody().front();
    OpBuilder body = OpBuilder::atBlockEnd(&block);
    Value fill =
        FillOp::create(body, loc, body.getI64Type(), block.getArgument(0));
    if (hasDrafts())
      fill = arith::AddIOp::create(
          body, loc, fill,
          arith::IndexCastOp::create(body, loc, body.getI64Type(),
                                     block.getArgument(2)));
    Value due = arith::CmpIOp::create(body, loc, arith::CmpIPredicate::sge,
                                      fill, block.getArgument(1));
    scf::IfOp::create(body, loc, due, [&](OpBuilder &inner, Location loc) {
      FoldOp::create(inner, loc, block.getArgument(0), Value(), Value(),
                     ValueRange{}, ValueRange{});
      scf::YieldOp::create(inner, loc);
    });
    ReturnOp::create(body, loc, ValueRange{});
  }

  DecodeOp decode;
  OpBuilder builder;
  Location loc;
};

/// A dense state is K x V numbers; what is carried beside it has no place
/// there, and a slot without it would go on from zero without a word.
LogicalResult checkTransfer(DecodeOp decode) {
  auto yield = cast<YieldOp>(decode.getBody().front().getTerminator());
  if (yield.getCarried().empty())
    return success();
  return decode.emitError("rule @")
         << decode.getSymName() << " carries " << yield.getCarried().size()
         << " key vector(s) beside its state, which pack and unpack do not "
            "move; copy whole slots instead";
}

struct ExpandWindowPass
    : public decant::impl::ExpandWindowBase<ExpandWindowPass> {
  using ExpandWindowBase::ExpandWindowBase;

  void runOnOperation() override {
    if (kernels != "decode" && kernels != "transfer") {
      getOperation().emitError("option kernels is '")
          << kernels.getValue() << "'; allowed are decode, transfer";
      return signalPassFailure();
    }
    for (DecodeOp decode :
         llvm::make_early_inc_range(getOperation().getOps<DecodeOp>())) {
      WindowExpander expander(decode);
      if (kernels == "transfer" && failed(checkTransfer(decode)))
        return signalPassFailure();
      if (kernels == "decode")
        expander.makeDecodeKernels();
      else
        expander.makeTransferKernels();
      decode.erase();
    }
  }
};

} // namespace
