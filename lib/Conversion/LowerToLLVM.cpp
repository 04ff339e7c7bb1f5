//===- LowerToLLVM.cpp - stage mapped to stage llvm -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerToLLVM.h"

#include "ApproximateMath.h"
#include "Decant/Decant.h"
#include "ExpandMath.h"
#include "KernelPointers.h"

// Not mlir/Conversion/Passes.h, whose one include costs ten seconds.
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace decant;

namespace {

/// Replaces ops that have no LLVM counterpart, or a different one on each
/// target, by ops that have.
struct ExpandForLLVMPass : PassWrapper<ExpandForLLVMPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandForLLVMPass)

  explicit ExpandForLLVMPass(TargetKind kind) : kind(kind) {}
  ExpandForLLVMPass(const ExpandForLLVMPass &other)
      : PassWrapper(other), kind(other.kind) {}

  StringRef getArgument() const override { return "decant-expand-for-llvm"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, arith::ArithDialect, math::MathDialect,
                    ub::UBDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateExpandMathPatterns(patterns);
    if (kind == TargetKind::Nvidia)
      populateApproximateMathPatterns(patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    // x86-64 without AVX512-BF16 has no conversion to bf16 but a library call,
    // and with it one that flushes small numbers to zero.
    if (kind == TargetKind::Cpu)
      arith::populateExpandBFloat16Patterns(patterns);
    // LLVM knows vectors of one dimension.
    vector::populateVectorMultiReductionLoweringPatterns(
        patterns, vector::VectorMultiReductionLowering::InnerParallel);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorRankReducingFMAPattern(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(
        patterns, vector::VectorTransposeLowering::EltWise);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    vector::populateVectorToElementsUnrollPatterns(patterns);
    vector::populateVectorFromElementsUnrollPatterns(patterns);
    // No constants are moved and no regions simplified: the patterns are about
    // a few ops and what becomes of them.
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (mayExpand(op))
        ops.push_back(op);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
      signalPassFailure();
  }

private:
  static bool mayExpand(Operation *op) {
    return isa<math::MathDialect, vector::VectorDialect>(op->getDialect()) ||
           isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
               arith::ExtFOp, arith::TruncFOp>(op) ||
           mayBeApproximated(op);
  }

  TargetKind kind;
};

/// Upstream makes known_block_size an upper bound. It is the size: a launch
/// with another one has to fail, and ptxas allots registers better when it
/// knows.
void requireBlockSize(LLVM::LLVMFuncOp function) {
  StringRef bound = NVVM::NVVMDialect::getMaxntidAttrName();
  auto size = dyn_cast_or_null<DenseI32ArrayAttr>(function->removeAttr(bound));
  if (!size)
    return;
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), size);
  auto minimum = [&](int64_t blocks) {
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(function.getContext()).getI32IntegerAttr(blocks));
  };
  if (auto blocks = function->getAttrOfType<IntegerAttr>("blocks_per_sm"))
    return minimum(blocks.getInt());
  // Left to itself, ptxas aims at several blocks per SM and may spill for it.
  // That is wrong for kernels with shared memory, which fold windows and need
  // most of a lane's registers, and for the uneven blocks of uncommon dims.
  auto shared = function->getAttrOfType<IntegerAttr>("dynamic_shared_bytes");
  const bool folds = shared && shared.getInt() > 0;
  if (folds || !llvm::isPowerOf2_32(size[0]))
    minimum(1);
}

/// A function that kernels call stays one, and nothing moves its barriers under
/// other conditions.
void keepCalled(LLVM::LLVMFuncOp function) {
  if (!function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName())) {
    function.setLinkage(LLVM::Linkage::Internal);
    function.setNoInline(true);
    function.setConvergent(true);
  }
  function.walk([](LLVM::CallOp call) { call.setConvergent(true); });
}

/// A table is an array of constants in the kernel's module, one for equal ones.
struct TableLowering : ConvertOpToLLVMPattern<TableOp> {
  TableLowering(const LLVMTypeConverter &types, TargetKind kind)
      : ConvertOpToLLVMPattern(types), kind(kind) {}

  LogicalResult
  matchAndRewrite(TableOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    constexpr unsigned kGlobalSpace = 1;
    constexpr unsigned kWordBytes = sizeof(int64_t);
    const unsigned space = kind == TargetKind::Nvidia ? kGlobalSpace : 0;
    const Location loc = op.getLoc();
    Operation *module = SymbolTable::getNearestSymbolTable(op);
    const ArrayRef<int64_t> values = op.getValues();
    const auto elements = rewriter.getI64TensorAttr(values);
    LLVM::GlobalOp table;
    int64_t number = 0;
    for (auto global : module->getRegion(0).getOps<LLVM::GlobalOp>()) {
      ++number;
      if (global.getValueOrNull() == elements)
        table = global;
    }
    const Type word = rewriter.getI64Type();
    if (!table) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(&module->getRegion(0).front());
      table = LLVM::GlobalOp::create(
          rewriter, loc, LLVM::LLVMArrayType::get(word, values.size()),
          /*isConstant=*/true, LLVM::Linkage::Internal,
          "decant_table_" + std::to_string(number), elements, kWordBytes,
          space);
    }
    auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext(), space);
    Value base =
        LLVM::AddressOfOp::create(rewriter, loc, pointer, table.getSymName());
    Value at = LLVM::GEPOp::create(rewriter, loc, pointer, word, base,
                                   ValueRange{adaptor.getIndex()});
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(
        op, word, at, kWordBytes, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/true);
    return success();
  }

  TargetKind kind;
};

/// Everything to llvm and nvvm in one conversion. Upstream's passes are not
/// used: theirs for the GPU sends math ops to libdevice, theirs for the host
/// has no bare pointers.
struct ConvertMappedPass : PassWrapper<ConvertMappedPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertMappedPass)

  explicit ConvertMappedPass(TargetKind kind) : kind(kind) {}
  ConvertMappedPass(const ConvertMappedPass &other)
      : PassWrapper(other), kind(other.kind) {}

  StringRef getArgument() const override { return "decant-convert-mapped"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter types(context, options);
    RewritePatternSet patterns(context);
    if (kind == TargetKind::Nvidia) {
      configureGpuToNVVMTypeConverter(types);
      populateGpuToNVVMConversionPatterns(types, patterns);
    }
    populateFuncToLLVMConversionPatterns(types, patterns);
    // The GPU's patterns above include calls to libdevice; these come first.
    const PatternBenefit first = 2;
    populateMathToLLVMConversionPatterns(types, patterns,
                                         /*approximateLog1p=*/false, first);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    ub::populateUBToLLVMConversionPatterns(types, patterns);
    patterns.add<TableLowering>(types, kind);
    // A sum may be added up as a tree: in order, each addition would wait for
    // the one before.
    populateVectorToLLVMConversionPatterns(types, patterns,
                                           /*reassociateFPReductions=*/true);

    ConversionTarget target(*context);
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<ModuleOp, gpu::GPUModuleOp>();
    if (failed(
            applyFullConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk(requireBlockSize);
    if (kind == TargetKind::Nvidia)
      getOperation()->walk(keepCalled);
  }

private:
  TargetKind kind;
};

/// The same list for the body of a gpu.module and of a host module.
void addPasses(OpPassManager &passes, TargetKind kind) {
  if (kind == TargetKind::Nvidia)
    passes.addPass(createKernelPointers());
  passes.addPass(std::make_unique<ExpandForLLVMPass>(kind));
  // The expansions repeat what several math ops of one operand share. No
  // canonicalizer: it would make vectors of two dimensions again.
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(std::make_unique<ConvertMappedPass>(kind));
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (kind == TargetKind::Nvidia)
    passes.addPass(createConvertNVVMToLLVMPass()); // nvvm.inline_ptx and such
  else // folds the memref descriptors away
    passes.addPass(createCanonicalizerPass());
}

void buildFor(OpPassManager &passes, TargetKind kind) {
  addPasses(kind == TargetKind::Nvidia ? passes.nest<gpu::GPUModuleOp>()
                                       : passes,
            kind);
}

} // namespace

void decant::buildLowerToLLVM(OpPassManager &passes, const TargetInfo &target) {
  buildFor(passes, target.kind);
}

void decant::registerLowerToLLVM() {
  PassPipelineRegistration<>(
      "decant-lower-to-nvvm", "stage mapped to stage llvm for NVIDIA GPUs",
      [](OpPassManager &passes) { buildFor(passes, TargetKind::Nvidia); });
  PassPipelineRegistration<>(
      "decant-lower-to-host", "stage mapped to stage llvm for the host",
      [](OpPassManager &passes) { buildFor(passes, TargetKind::Cpu); });
}
