//===- MaterializeFormat.cpp - in which bytes? ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MaterializeFormat: fixes the slot's layout and the kernels' arguments.
// In:  kernels over a !decant.window.
// Out: kernels over a !decant.slot; their arguments are memrefs and strides in
//      final order; offsets are 64-bit arithmetic. With several tokens per step
//      those of a row are rows cu_seqlens[row] .. cu_seqlens[row + 1] - 1 of
//      the inputs and the output, and @step is a loop over them.
//
//===----------------------------------------------------------------------===//

#include "SlotKernel.h"
#include "decant/Compiler/Passes.h"
#include "decant/Core/CodeStore.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace decant {
#define GEN_PASS_DEF_MATERIALIZEFORMAT
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

/// The layout that a kernel's window type and format ask for.
SlotLayout layoutOf(KernelOp kernel, WindowType window, CodeOrder order) {
  DecodeSpec spec;
  spec.rule.text = kernel.getSymName().str(); // a layout depends on none
  spec.heads.value = kernel.getHeads()->getValue();
  spec.heads.key = kernel.getHeads()->getKey();
  spec.heads.keyDim = window.getKeyDim();
  spec.heads.valueDim = window.getValueDim();
  spec.state.codes = toElementType(kernel.getFormat()->getCodes());
  for (ScaleAttr scale : kernel.getFormat()->getScales())
    spec.state.scales.push_back(
        {Axis(scale.getAxis()), ScaleFit(scale.getFit()),
         toElementType(scale.getType()), int(scale.getBlock())});
  spec.state.rotation = Rotation(kernel.getFormat()->getRotation());
  spec.state.rotationBlock = kernel.getFormat()->getRotationBlock();
  spec.state.tables = tablesOf(kernel.getFormat()->getTables());
  spec.state.rounding = Rounding(kernel.getFormat()->getRounding());
  spec.window.length = window.getLength();
  spec.window.compensators = window.getCompensators();
  if (Type type = kernel.getFormat()->getCompensators())
    spec.window.compensatorType = toElementType(type);
  spec.window.compensatorRounds = kernel.getFormat()->getRounds();
  spec.state.bits.widths = rowBitsOf(kernel.getFormat()->getRows());
  spec.window.records = toElementType(window.getRecords());
  spec.tokensPerStep = window.getTokens();
  return makeSlotLayout(
      spec,
      {int(window.getWrites()), DecayShape(window.getKeyDecay()),
       DecayShape(window.getValueDecay()), int(window.getCarried())},
      order);
}

class FormatBuilder : SlotKernel {
  auto sourceArguments() {
    return llvm::drop_begin(
        llvm::zip(source.getArgNames().getAsValueRange<StringAttr>(),
                  source.getBody().getArguments()));
  }
  /// Those that become arguments of @step: a loop makes %token and %tokens.
  auto inputArguments() {
    return llvm::drop_begin(sourceArguments(), hasDrafts() ? 2 : 0);
  }

public:
  FormatBuilder(KernelOp source, WindowType window, CodeOrder order)
      : SlotKernel(source, layoutOf(source, window, order)) {}

  void buildStep() {
    addPointer("state", builder.getI8Type());
    addPointer("slots", builder.getI32Type());
    if (hasDrafts())
      addPointer("cu_seqlens", builder.getI32Type());
    const bool packed = inputs.getLayout() == QkvLayout::Packed;
    if (packed)
      addPointer("qkv", inputs.getType());
    for (auto [name, argument] : inputArguments())
      if (!(packed && isQkv(name)))
        addPointer(name, elementTypeOf(name, argument));
    addPointer("out", inputs.getOutput());
    addIndex("state_stride");
    addIndex("slots_stride");
    if (packed)
      addIndex("qkv_stride");
    for (auto [name, argument] : inputArguments())
      if (!(packed && isQkv(name)) && hasRows(name, argument))
        addIndex(name.str() + "_stride");
    addIndex("out_stride");
    KernelOp kernel = createKernel(source.getSymName());
    enterBlock();
    if (hasDrafts())
      buildTokens();
    else
      buildToken();
    finish(kernel);
  }

  void buildCommit() {
    addPointer("state", builder.getI8Type());
    addPointer("slots", builder.getI32Type());
    if (hasDrafts())
      addPointer("cu_seqlens", builder.getI32Type());
    addIndex("state_stride");
    addIndex("slots_stride");
    addArgument("min_fill", builder.getI64Type());
    KernelOp kernel = createKernel(source.getSymName());
    enterBlock();
    ifLive(
        [&](OpBuilder &, Location) {
          Value slot = openSlot();
          IRMapping mapping;
          mapping.map(source.getBody().getArgument(0), slot);
          mapping.map(source.getBody().getArgument(1), args["min_fill"]);
          if (hasDrafts())
            mapping.map(source.getBody().getArgument(2), tokensToCome());
          cloneBody(mapping);
          touchHeader(slot);
        },
        nullptr);
    finish(kernel);
  }

  void buildAccept() {
    addPointer("state", builder.getI8Type());
    addPointer("slots", builder.getI32Type());
    addPointer("accepted", builder.getI32Type());
    addIndex("state_stride");
    addIndex("slots_stride");
    KernelOp kernel = createKernel(source.getSymName());
    enterBlock();
    ifLive(
        [&](OpBuilder &, Location) {
          IRMapping mapping;
          mapping.map(source.getBody().getArgument(1),
                      loadIndex(args["accepted"], row));
          Value slot = openSlot();
          mapping.map(source.getBody().getArgument(0), slot);
          cloneBody(mapping);
          touchHeader(slot);
        },
        nullptr);
    finish(kernel);
  }

  /// @pack and @unpack, for one element type of the dense tensor.
  void buildTransfer(ElementType dense) {
    const bool isPack = source.getSymName() == "pack";
    addPointer("state", builder.getI8Type());
    addPointer("slots", builder.getI32Type());
    addPointer("dense", toType(context, dense));
    for (StringRef name : {"state_stride", "slots_stride", "dense_row",
                           "dense_head", "dense_key", "dense_value"})
      addIndex(name);
    KernelOp kernel = createKernel(
        (source.getSymName() + "_" + decant::toString(dense)).str());
    enterBlock();
    ifLive(
        [&](OpBuilder &, Location) {
          Value slot = openSlot();
          Value offset =
              add(mul(row, args["dense_row"]), mul(head, args["dense_head"]));
          if (isPack) {
            PackOp::create(builder, loc, slot, args["dense"], offset,
                           args["dense_key"], args["dense_value"]);
            touchHeader(slot);
          } else {
            UnpackOp::create(builder, loc, slot, args["dense"], offset,
                             args["dense_key"], args["dense_value"]);
          }
        },
        nullptr);
    finish(kernel);
  }

private:
  bool hasDrafts() const { return layout.tokensPerStep > 1; }

  /// The whole of a step that decodes one token per row.
  void buildToken() {
    inputRow = row;
    // %live = the row has a slot; a padding row writes zeros and touches none.
    Value out = outOffset();
    auto live = [&](OpBuilder &, Location) {
      // Inputs first: their loads wait for nothing that is in the slot.
      IRMapping mapping;
      for (auto [name, argument] : sourceArguments())
        mapping.map(argument, loadInput(name, argument));
      Value slot = openSlot();
      mapping.map(source.getBody().getArgument(0), slot);
      Value output = cloneBody(mapping);
      storeOutput(output, out);
      touchHeader(slot);
    };
    ifLive(live, [&](OpBuilder &, Location) { storeZeros(out); });
  }

  /// Room for all tokens of the row, then one after the other.
  void buildTokens() {
    Value first = loadIndex(args["cu_seqlens"], row);
    Value count = countTokens(row);
    auto live = [&](OpBuilder &, Location) {
      Value slot = openSlot();
      IRMapping mapping;
      mapping.map(source.getBody().getArgument(0), slot);
      mapping.map(argumentNamed("tokens"), count);
      for (auto room : source.getBody().front().getOps<MakeRoomOp>())
        builder.clone(*room, mapping);
      touchHeader(slot);
      forTokens(first, count, [&](Value token) {
        IRMapping own = mapping;
        own.map(argumentNamed("token"), token);
        for (auto [name, argument] : sourceArguments())
          if (!own.contains(argument))
            own.map(argument, loadInput(name, argument));
        Value output = cloneBody(own);
        StoreOp::create(builder, loc, output, args["out"], outOffset());
      });
    };
    ifLive(live, [&](OpBuilder &, Location) {
      forTokens(first, count, [&](Value) { storeZeros(outOffset()); });
    });
  }

  void forTokens(Value first, Value count,
                 llvm::function_ref<void(Value token)> body) {
    auto loop =
        scf::ForOp::create(builder, loc, constant(0), count, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    inputRow = add(first, loop.getInductionVar());
    body(loop.getInductionVar());
  }

  /// Row `of`'s tokens, never more than a window was made for.
  Value countTokens(Value of) {
    Value begin = loadIndex(args["cu_seqlens"], of);
    Value end = loadIndex(args["cu_seqlens"], add(of, constant(1)));
    Value count = arith::SubIOp::create(builder, loc, end, begin);
    count = arith::MaxSIOp::create(builder, loc, count, constant(0));
    return arith::MinSIOp::create(builder, loc, count,
                                  constant(layout.tokensPerStep));
  }

  /// For @commit: the tokens of the step that follows count where a full window
  /// alone would not do, which a min_fill beyond it says. A flush counts none;
  /// there cu_seqlens is any two numbers.
  Value tokensToCome() {
    Value longest =
        arith::ConstantIntOp::create(builder, loc, layout.window, 64);
    Value counts = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sgt, args["min_fill"], longest);
    Value of = arith::SelectOp::create(builder, loc, counts, row, constant(0));
    return arith::SelectOp::create(builder, loc, counts, countTokens(of),
                                   constant(0));
  }

  BlockArgument argumentNamed(StringRef name) {
    for (auto [each, argument] : sourceArguments())
      if (each == name)
        return argument;
    llvm_unreachable("a kernel without this argument");
  }

  void storeZeros(Value offset) {
    auto type = vectorType(context, VectorAxis::Value, layout.valueDim);
    Value zero = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, APFloat(0.0f)));
    StoreOp::create(builder, loc, zero, args["out"], offset);
  }

  static bool isQkv(StringRef name) {
    return name == "q" || name == "k" || name == "v";
  }
  RuleInput::Source sourceOf(BlockArgument argument) {
    return decant::sourceOf(source.getArgRoles(), argument.getArgNumber());
  }
  bool hasRows(StringRef name, BlockArgument argument) {
    return !isGateParameter(name.str()) &&
           sourceOf(argument) != RuleInput::Layer;
  }
  Type elementTypeOf(StringRef name, BlockArgument argument) {
    if (!hasRows(name, argument))
      return builder.getF32Type();
    return name == "decay" || isBeta(name.str()) ||
                   sourceOf(argument) == RuleInput::Gate
               ? inputs.getGate()
               : inputs.getType();
  }

  /// Before room is made: a fold would have to keep the output meanwhile.
  void storeOutput(Value output, Value offset) {
    OpBuilder::InsertionGuard guard(builder);
    auto rooms = builder.getInsertionBlock()->getOps<MakeRoomOp>();
    if (!rooms.empty())
      builder.setInsertionPoint(*rooms.begin());
    StoreOp::create(builder, loc, output, args["out"], offset);
  }

  Value outOffset() {
    return add(mul(inputRow, args["out_stride"]),
               mul(head, constant(layout.valueDim)));
  }

  Value keyHead() {
    if (heads.getMap() == HeadMapKind::Group)
      return arith::DivUIOp::create(
          builder, loc, head, constant(heads.getValue() / heads.getKey()));
    return arith::RemUIOp::create(builder, loc, head, constant(heads.getKey()));
  }

  Value loadInput(StringRef name, BlockArgument input) {
    const Type type = input.getType();
    const auto axis = axisOf(type);
    const bool packed = inputs.getLayout() == QkvLayout::Packed && isQkv(name);
    const std::string argument = packed ? "qkv" : name.str();
    Value index = hasKeyHeads(name.str()) ? keyHead() : head;
    Value offset =
        axis ? mul(index, constant(cast<RankedTensorType>(type).getDimSize(0)))
             : index;
    if (packed && name != "q")
      offset = add(offset, constant(heads.getKey() * layout.keyDim *
                                    (name == "k" ? 1 : 2)));
    if (hasRows(name, input))
      offset = add(mul(inputRow, args[argument + "_stride"]), offset);
    if (axis)
      return LoadOp::create(builder, loc, type, args[argument], offset);
    Value scalar = memref::LoadOp::create(builder, loc, args[argument], offset);
    return scalar.getType().isF32()
               ? scalar
               : arith::ExtFOp::create(builder, loc, type, scalar).getResult();
  }

  /// Clones the kernel's ops; returns its output, if it has one.
  Value cloneBody(IRMapping &mapping) {
    Block &body = source.getBody().front();
    for (Operation &op : body.without_terminator()) {
      if (hasDrafts() && isa<MakeRoomOp>(op))
        continue; // made for all tokens
      Operation *copy = builder.clone(op, mapping);
      if (isa<AfterOp>(copy))
        copy->getResult(0).setType(copy->getOperand(0).getType());
    }
    auto end = cast<ReturnOp>(body.getTerminator());
    return end.getOutputs().empty() ? Value()
                                    : mapping.lookup(end.getOutputs()[0]);
  }

  Value inputRow; // of the token, in inputs and output
};

struct MaterializeFormatPass
    : public decant::impl::MaterializeFormatBase<MaterializeFormatPass> {
  using MaterializeFormatBase::MaterializeFormatBase;

  void runOnOperation() override {
    constexpr CodeOrder kOrders[] = {CodeOrder::Rows, CodeOrder::Fragments,
                                     CodeOrder::Columns};
    const auto *order = llvm::find_if(kOrders, [&](CodeOrder each) {
      return codeOrder == decant::toString(each);
    });
    if (order == std::end(kOrders)) {
      getOperation().emitError("code-order: '")
          << codeOrder << "'; allowed are rows, fragments, columns";
      return signalPassFailure();
    }
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      if (kernel.getBody().getNumArguments() == 0)
        continue;
      auto window =
          dyn_cast<WindowType>(kernel.getBody().getArgument(0).getType());
      if (!window)
        continue;
      if (failed(format(kernel, window, *order)))
        return signalPassFailure();
      kernel.erase();
    }
  }

  /// A Hadamard matrix commutes with one decay for all elements of an axis, not
  /// with one for each.
  static LogicalResult checkRotation(KernelOp kernel, WindowType window) {
    const RotationKind rotation = kernel.getFormat()->getRotation();
    auto refuse = [&](const char *axis, DecayKind decay,
                      RotationKind other) -> LogicalResult {
      if (rotation == RotationKind::None || rotation == other ||
          decay != DecayKind::Vector)
        return success();
      return kernel.emitError("state.rotate: '")
             << stringifyRotationKind(rotation) << "' rotates the " << axis
             << " axis, along which this rule's decays are vectors: a rotated "
                "state would have to be rotated back at every token; an axis "
                "with one decay or none can be rotated";
    };
    if (failed(refuse("key", window.getKeyDecay(), RotationKind::Value)))
      return failure();
    return refuse("value", window.getValueDecay(), RotationKind::Key);
  }

  static LogicalResult format(KernelOp kernel, WindowType window,
                              CodeOrder order) {
    if (!kernel.getHeads() || !kernel.getInputs() || !kernel.getFormat() ||
        !kernel.getTarget())
      return kernel.emitError("needs #decant.heads, #decant.inputs, "
                              "#decant.format and #decant.target; "
                              "decant-expand-window puts them there");
    const ElementType codes = toElementType(kernel.getFormat()->getCodes());
    if (order == CodeOrder::Columns && !isWideFloat(codes))
      return kernel.emitError("code-order: columns are for float codes; the "
                              "codes are ")
             << decant::toString(codes);
    if (failed(checkRotation(kernel, window)))
      return failure();
    if (order == CodeOrder::Fragments && kernel.getFormat()->getRows() &&
        !fillsSlabs(layoutOf(kernel, window, order)))
      return kernel.emitError("code-order: fragments need the key rows of each "
                              "width of a head in multiples of ")
             << kSlabRows << "; those of the plan are in rows";
    const StringRef name = kernel.getSymName();
    FormatBuilder builder(kernel, window, order);
    if (name == "step") {
      builder.buildStep();
    } else if (name == "commit") {
      builder.buildCommit();
    } else if (name == "accept") {
      builder.buildAccept();
    } else if (name == "pack" || name == "unpack") {
      for (ElementType dense : {ElementType::F32, ElementType::BF16})
        FormatBuilder(kernel, window, order).buildTransfer(dense);
    } else {
      return kernel.emitError("kernel @")
             << name
             << ": decant-materialize-format knows step, commit, accept, pack "
                "and unpack";
    }
    return success();
  }
};

} // namespace
