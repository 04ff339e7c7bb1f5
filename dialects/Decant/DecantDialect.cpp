//===- DecantDialect.cpp - registration, types, attributes ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decant/Decant.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace decant;

#include "Decant/DecantDialect.cpp.inc"
#include "Decant/DecantEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Decant/DecantAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "Decant/DecantTypes.cpp.inc"

void DecantDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Decant/DecantAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "Decant/DecantTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "Decant/DecantOps.cpp.inc"
      >();
}

// !decant.state<128x128>, with ? for a dim that the spec decides.
Type StateType::parse(AsmParser &parser) {
  SmallVector<int64_t, 2> dims;
  const SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(dims, /*allowDynamic=*/true,
                                /*withTrailingX=*/false) ||
      parser.parseGreater())
    return {};
  if (dims.size() != 2) {
    parser.emitError(loc, "a state has two dims, key x value; found ")
        << dims.size();
    return {};
  }
  return StateType::get(parser.getContext(), dims[0], dims[1]);
}

void StateType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList({getKeyDim(), getValueDim()});
  printer << ">";
}

std::optional<VectorAxis> decant::axisOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 1 || !tensor.getElementType().isF32())
    return std::nullopt;
  auto axis = dyn_cast_or_null<AxisAttr>(tensor.getEncoding());
  return axis ? std::optional(axis.getAxis()) : std::nullopt;
}

bool decant::isVectorOf(Type type, VectorAxis axis) {
  return axisOf(type) == axis;
}

bool decant::needsWholeHeads(Operation *root) {
  return root
      ->walk([](Operation *op) {
        auto dot = dyn_cast<DotOp>(op);
        auto yield = dyn_cast<YieldOp>(op);
        const bool sums =
            dot && isVectorOf(dot.getLhs().getType(), VectorAxis::Value);
        const bool carries = yield && !yield.getCarried().empty();
        return sums || carries || isa<ReadKeyOp, WindowReadKeyOp, CarryOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

RankedTensorType decant::vectorType(MLIRContext *context, VectorAxis axis,
                                    int64_t dim) {
  return RankedTensorType::get({dim}, Float32Type::get(context),
                               AxisAttr::get(context, axis));
}

StringRef decant::toString(RuleInput::Source source) {
  switch (source) {
  case RuleInput::Row:
    return "";
  case RuleInput::Gate:
    return "gate";
  case RuleInput::Layer:
    return "layer";
  case RuleInput::Carried:
    return "carried";
  }
  return "";
}

RuleInput::Source decant::sourceOf(std::optional<ArrayAttr> roles,
                                   unsigned number) {
  if (roles)
    for (RuleInput::Source source :
         {RuleInput::Gate, RuleInput::Layer, RuleInput::Carried})
      if (cast<StringAttr>((*roles)[number]).getValue() == toString(source))
        return source;
  return RuleInput::Row;
}

ArrayAttr decant::rolesAttr(MLIRContext *context,
                            ArrayRef<RuleInput::Source> sources) {
  if (llvm::all_of(sources, [](RuleInput::Source source) {
        return source == RuleInput::Row;
      }))
    return {};
  SmallVector<StringRef> words;
  for (RuleInput::Source source : sources)
    words.push_back(toString(source));
  return Builder(context).getStrArrayAttr(words);
}

Type decant::toType(MLIRContext *context, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::I8:
  case ElementType::I6:
  case ElementType::I4:
  case ElementType::I3:
  case ElementType::I2:
    return IntegerType::get(context, elementBits(type));
  case ElementType::E4M3:
    return Float8E4M3FNType::get(context);
  case ElementType::E5M2:
    return Float8E5M2Type::get(context);
  case ElementType::E3M2:
    return Float6E3M2FNType::get(context);
  case ElementType::E2M3:
    return Float6E2M3FNType::get(context);
  case ElementType::E2M1:
    return Float4E2M1FNType::get(context);
  case ElementType::E8M0:
    return Float8E8M0FNUType::get(context);
  case ElementType::L4:
  case ElementType::L3:
    return LloydType::get(context, elementBits(type));
  case ElementType::T4:
  case ElementType::T3:
    return LevelsType::get(context, elementBits(type));
  }
  llvm_unreachable("an element type without an MLIR type");
}

ElementType decant::toElementType(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  for (ElementType small :
       {ElementType::E4M3, ElementType::E5M2, ElementType::E3M2,
        ElementType::E2M3, ElementType::E2M1, ElementType::E8M0,
        ElementType::L4, ElementType::L3, ElementType::T4, ElementType::T3})
    if (type == toType(type.getContext(), small))
      return small;
  for (ElementType integer :
       {ElementType::I6, ElementType::I4, ElementType::I3, ElementType::I2})
    if (type.isInteger(elementBits(integer)))
      return integer;
  assert(type.isInteger(8) && "an MLIR type without an element type");
  return ElementType::I8;
}

ArrayAttr decant::rowBitsAttr(MLIRContext *context, ArrayRef<uint8_t> rowBits,
                              int64_t heads) {
  if (rowBits.empty())
    return {};
  const size_t rows = rowBits.size() / heads;
  SmallVector<Attribute> texts;
  for (int64_t head = 0; head < heads; ++head)
    texts.push_back(StringAttr::get(
        context, digitsOf(rowBits.slice(head * rows, rows).vec())));
  return ArrayAttr::get(context, texts);
}

std::vector<uint8_t> decant::rowBitsOf(ArrayAttr rows) {
  std::string digits;
  if (rows)
    for (auto text : rows.getAsRange<StringAttr>())
      digits += text.getValue();
  return decant::rowBitsOf(digits).value_or(std::vector<uint8_t>());
}

DictionaryAttr decant::tablesAttr(MLIRContext *context,
                                  const PlanTables &tables) {
  if (tables.empty())
    return {};
  Builder builder(context);
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef name, const std::vector<float> &numbers) {
    if (!numbers.empty())
      entries.push_back(
          builder.getNamedAttr(name, builder.getDenseF32ArrayAttr(numbers)));
  };
  add("weights", tables.weights);
  add("levels", tables.levels);
  add("scales", tables.scales);
  return builder.getDictionaryAttr(entries);
}

PlanTables decant::tablesOf(DictionaryAttr attr) {
  PlanTables tables;
  auto find = [&](StringRef name) -> std::vector<float> {
    auto numbers = attr ? attr.getAs<DenseF32ArrayAttr>(name) : nullptr;
    return numbers ? numbers.asArrayRef().vec() : std::vector<float>();
  };
  tables.weights = find("weights");
  tables.levels = find("levels");
  tables.scales = find("scales");
  return tables;
}

LayoutAttr decant::toAttr(MLIRContext *context, const SlotLayout &layout) {
  Builder builder(context);
  SmallVector<Attribute> scales;
  for (const ScaleSpec &scale : layout.scales)
    scales.push_back(ScaleAttr::get(context, ScaleAxis(scale.axis),
                                    FitKind(scale.fit),
                                    toType(context, scale.type), scale.block));
  SmallVector<NamedAttribute> regions;
  for (const auto &[name, region] : layout.regions())
    if (!region.empty())
      regions.push_back(builder.getNamedAttr(
          name, RegionAttr::get(context, region.offset, region.count,
                                region.width, toType(context, region.type))));
  return LayoutAttr::get(
      context, layout.valueHeads, layout.keyDim, layout.valueDim,
      layout.paddedKey, layout.paddedValue, layout.window, layout.compensators,
      layout.tokensPerStep, layout.compensatorRounds, layout.record.writes,
      DecayKind(layout.record.keyDecay), DecayKind(layout.record.valueDecay),
      layout.record.carried, layout.headBytes, CodeOrderKind(layout.codeOrder),
      RotationKind(layout.rotation), layout.rotationBlock,
      RoundingKind(layout.rounding),
      rowBitsAttr(context, layout.rowBits, layout.valueHeads),
      tablesAttr(context, layout.tables), builder.getArrayAttr(scales),
      builder.getDictionaryAttr(regions));
}

SlotLayout decant::fromAttr(LayoutAttr attr) {
  SlotLayout layout;
  layout.valueHeads = attr.getHeads();
  layout.keyDim = attr.getKeyDim();
  layout.valueDim = attr.getValueDim();
  layout.paddedKey = attr.getPaddedKey();
  layout.paddedValue = attr.getPaddedValue();
  layout.window = attr.getWindow();
  layout.compensators = attr.getCompensators();
  layout.tokensPerStep = attr.getTokens();
  layout.compensatorRounds = attr.getRounds();
  layout.record = {int(attr.getWrites()), DecayShape(attr.getKeyDecay()),
                   DecayShape(attr.getValueDecay()), int(attr.getCarried())};
  for (auto scale : attr.getScales().getAsRange<ScaleAttr>())
    layout.scales.push_back({Axis(scale.getAxis()), ScaleFit(scale.getFit()),
                             toElementType(scale.getType()),
                             int(scale.getBlock())});
  layout.codeOrder = CodeOrder(attr.getCodeOrder());
  layout.rotation = Rotation(attr.getRotation());
  layout.rotationBlock = attr.getRotationBlock();
  layout.rounding = Rounding(attr.getRounding());
  layout.tables = tablesOf(attr.getTables());
  auto region = [&](StringRef name) {
    auto held = attr.getRegions().getAs<RegionAttr>(name);
    return held ? Region{held.getOffset(), toElementType(held.getType()),
                         held.getCount(), held.getWidth()}
                : Region{};
  };
  layout.codes = region("codes");
  layout.keyScale = region("key_scale");
  layout.valueScale = region("value_scale");
  layout.headScale = region("head_scale");
  layout.groupScale = region("group_scale");
  layout.groupOffset = region("group_offset");
  layout.compKeys = region("comp_keys");
  layout.compValues = region("comp_values");
  layout.compScale = region("comp_scale");
  layout.cursor = region("cursor");
  layout.carried = region("carried");
  layout.totalKeyDecay = region("total_key_decay");
  layout.totalValueDecay = region("total_value_decay");
  layout.recordKeyDecay = region("record_key_decay");
  layout.recordValueDecay = region("record_value_decay");
  layout.recordKeys = region("record_keys");
  layout.recordValues = region("record_values");
  layout.rowBits = rowBitsOf(attr.getRowBits());
  layout.headBytes = attr.getHeadBytes();
  layout.slotBytes = layout.headOffset(layout.valueHeads);
  return layout;
}

ScheduleAttr decant::toAttr(MLIRContext *context, const Schedule &schedule) {
  return ScheduleAttr::get(
      context, StrategyKind(schedule.strategy), schedule.keyLanes,
      schedule.valueLanes, schedule.keysPerLane, schedule.valuesPerLane,
      schedule.rows == RowLoop::Unrolled ? RowLoopKind::Unrolled
                                         : RowLoopKind::Rolled,
      BoundaryKind(schedule.boundary), schedule.blocksPerSm,
      LaneOrderKind(schedule.lanes), schedule.split,
      CodeFetchKind(schedule.fetch), LaunchKind(schedule.launch),
      schedule.exchange);
}

Schedule decant::fromAttr(ScheduleAttr attr) {
  Schedule schedule;
  schedule.strategy = Strategy(attr.getStrategy());
  schedule.boundary = Boundary(attr.getBoundary());
  schedule.blocksPerSm = attr.getBlocksPerSm();
  schedule.lanes = LaneOrder(attr.getLanes());
  schedule.fetch = CodeFetch(attr.getFetch());
  schedule.launch = LaunchOrder(attr.getLaunch());
  schedule.split = attr.getSplit();
  schedule.exchange = attr.getExchange();
  schedule.keyLanes = attr.getKeyLanes();
  schedule.valueLanes = attr.getValueLanes();
  schedule.keysPerLane = attr.getKeysPerLane();
  schedule.valuesPerLane = attr.getValuesPerLane();
  schedule.rows = attr.getRows() == RowLoopKind::Unrolled ? RowLoop::Unrolled
                                                          : RowLoop::Rolled;
  return schedule;
}
