//===- ImportSpec.cpp - DecodeSpec to stage `rule` ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ImportSpec: binds a rule to a layer.
// In:  a DecodeSpec, whose rule text holds one decant.rule for any or fixed
// dims. Out: one decant.decode over the raw inputs, with static dims.
//
//===----------------------------------------------------------------------===//

#include "ImportSpec.h"
#include "Decant/Decant.h"
#include "InputConventions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace decant;

namespace {

/// The rule op of the spec's text, verified; null after an error.
OwningOpRef<ModuleOp> parseRule(const DecodeSpec &spec, MLIRContext *context,
                                RuleOp &rule) {
  auto module = parseSourceString<ModuleOp>(
      spec.rule.text, ParserConfig(context), spec.rule.name);
  if (!module)
    return {};
  auto rules = module->getOps<RuleOp>();
  if (std::distance(rules.begin(), rules.end()) != 1) {
    mlir::emitError(module->getLoc())
        << "a rule file must hold exactly one decant.rule; found "
        << std::distance(rules.begin(), rules.end());
    return {};
  }
  rule = *rules.begin();
  return module;
}

/// The rule's type with its open dims filled in; null when a fixed dim differs.
Type bindDims(Type type, const HeadShape &heads) {
  if (auto state = dyn_cast<StateType>(type)) {
    auto fits = [](int64_t dim, int64_t bound) {
      return ShapedType::isDynamic(dim) || dim == bound;
    };
    if (!fits(state.getKeyDim(), heads.keyDim) ||
        !fits(state.getValueDim(), heads.valueDim))
      return {};
    return StateType::get(type.getContext(), heads.keyDim, heads.valueDim);
  }
  if (const auto axis = axisOf(type)) {
    const int64_t dim =
        *axis == VectorAxis::Key ? heads.keyDim : heads.valueDim;
    const int64_t own = cast<RankedTensorType>(type).getDimSize(0);
    if (!ShapedType::isDynamic(own) && own != dim)
      return {};
    return vectorType(type.getContext(), *axis, dim);
  }
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    // A vector of another element type, such as the i1 of a comparison.
    auto axis = dyn_cast_or_null<AxisAttr>(tensor.getEncoding());
    if (axis && tensor.getRank() == 1)
      return RankedTensorType::get(
          {axis.getAxis() == VectorAxis::Key ? heads.keyDim : heads.valueDim},
          tensor.getElementType(), axis);
  }
  return type;
}

/// Checks that the inputs with a meaning have the type that the meaning needs.
LogicalResult checkKnownInputs(RuleOp rule) {
  auto found = [&](StringRef name) -> Type {
    for (auto [argument, own] :
         llvm::zip(rule.getBody().getArguments(),
                   rule.getArgNames().getAsValueRange<StringAttr>()))
      if (own == name)
        return argument.getType();
    return {};
  };
  for (StringRef name : {"q", "k", "v"}) {
    const auto axis = name == "v" ? VectorAxis::Value : VectorAxis::Key;
    const Type type = found(name);
    if (!type || !isVectorOf(type, axis))
      return rule.emitError("rule @")
             << rule.getSymName() << ": a " << stringifyVectorAxis(axis)
             << " vector %" << name << " is needed among the arguments"
             << (type ? "; it has another type" : "");
  }
  for (auto [argument, own] :
       llvm::zip(rule.getBody().getArguments(),
                 rule.getArgNames().getAsValueRange<StringAttr>()))
    if (hasKeyHeads(own.str()) &&
        !isVectorOf(argument.getType(), VectorAxis::Key))
      return rule.emitError("rule @")
             << rule.getSymName() << ": argument %" << own << " has type "
             << argument.getType() << "; a further key is a key vector";
  return success();
}

/// Whether `op` may stand in a rule: pure arithmetic, or an op that says what a
/// token does to the state.
bool isRuleOp(Operation &op) {
  const StringRef dialect = op.getName().getDialectNamespace();
  return op.getNumRegions() == 0 &&
         (dialect == "arith" || dialect == "math" ||
          isa<DecayOp, ReadOp, ReadKeyOp, WriteOp, ScaleOp, BroadcastOp, DotOp,
              YieldOp>(op));
}

RuleInput::Kind kindOf(Type type) {
  const auto axis = axisOf(type);
  return !axis                      ? RuleInput::Scalar
         : *axis == VectorAxis::Key ? RuleInput::KeyVector
                                    : RuleInput::ValueVector;
}

class Importer {
  auto names() { return rule.getArgNames().getAsValueRange<StringAttr>(); }

public:
  Importer(const DecodeSpec &spec, const TargetInfo &target, RuleOp rule)
      : spec(spec), target(target), rule(rule), builder(rule.getContext()),
        loc(rule.getLoc()) {}

  LogicalResult build(ModuleOp module) {
    if (failed(checkKnownInputs(rule)))
      return failure();
    builder.setInsertionPointToEnd(module.getBody());
    if (failed(createDecode()))
      return failure();
    for (auto [argument, name] :
         llvm::drop_begin(llvm::zip(rule.getBody().getArguments(), names())))
      mapping.map(argument, prepare(name));
    if (rule.getBody().getOps<WriteOp>().empty())
      return rule.emitError("rule @") << rule.getSymName()
                                      << ": has no decant.write; a state that "
                                         "nothing is written to stays "
                                         "empty";
    mapping.map(rule.getBody().getArgument(0), body->getArgument(0));
    return cloneRule();
  }

private:
  bool needsGateParameters() const {
    return spec.inputs.decay == DecayForm::Softplus ||
           spec.inputs.decay == DecayForm::LowerBound;
  }

  LogicalResult createDecode() {
    SmallVector<Type> types;
    SmallVector<std::string> argNames;
    SmallVector<RuleInput::Source> sources;
    for (auto [argument, name] :
         llvm::zip(rule.getBody().getArguments(), names())) {
      const Type type = bindDims(argument.getType(), spec.heads);
      if (!type)
        return rule.emitError("rule @")
               << rule.getSymName() << ": argument %" << name << " has type "
               << argument.getType() << "; the spec's dims are "
               << spec.heads.keyDim << " x " << spec.heads.valueDim;
      types.push_back(type);
      argNames.push_back(name == "g" ? "decay" : name.str());
      sources.push_back(sourceOf(rule.getArgRoles(), argument.getArgNumber()));
      if (name == "g" && needsGateParameters()) {
        types.append({builder.getF32Type(), type});
        argNames.insert(argNames.end(), {"A_log", "dt_bias"});
        sources.append(2, RuleInput::Row); // known by their names
      }
    }
    for (size_t i = 0; i < argNames.size(); ++i)
      if (llvm::is_contained(ArrayRef(argNames).take_front(i), argNames[i]))
        return rule.emitError("rule @")
               << rule.getSymName() << ": two arguments are %" << argNames[i]
               << (isGateParameter(argNames[i])
                       ? "; inputs.decay brings one of that name, too"
                       : "");
    SmallVector<StringRef> references(argNames.begin(), argNames.end());
    auto type = [&](ElementType element) {
      return toType(builder.getContext(), element);
    };
    SmallVector<ScaleAttr> scales;
    for (const ScaleSpec &scale : spec.state.scales)
      scales.push_back(ScaleAttr::get(builder.getContext(),
                                      ScaleAxis(scale.axis), FitKind(scale.fit),
                                      type(scale.type), scale.block));
    MLIRContext *context = builder.getContext();
    auto decode = DecodeOp::create(
        builder, loc, rule.getSymName(),
        HeadsAttr::get(context, spec.heads.key, spec.heads.value,
                       HeadMapKind(spec.heads.map)),
        InputsAttr::get(context, type(spec.inputs.type),
                        type(spec.inputs.gateType), type(spec.inputs.output),
                        QkvLayout(spec.inputs.layout),
                        PadKind(spec.inputs.pad)),
        WindowAttr::get(context, spec.window.length, spec.window.compensators,
                        type(spec.window.records), spec.tokensPerStep),
        FormatAttr::get(
            context, type(spec.state.codes), RotationKind(spec.state.rotation),
            spec.state.rotationBlock, RoundingKind(spec.state.rounding), scales,
            spec.window.compensatorType == ElementType::F16
                ? Type()
                : type(spec.window.compensatorType),
            spec.window.compensatorRounds,
            rowBitsAttr(context, spec.state.bits.widths, spec.heads.value),
            tablesAttr(context, spec.state.tables)),
        TargetAttr::get(context, target.name),
        builder.getStrArrayAttr(references), rolesAttr(context, sources));
    body = builder.createBlock(&decode.getBody(), {}, types,
                               SmallVector<Location>(types.size(), loc));
    for (auto [argument, name] : llvm::zip(body->getArguments(), argNames))
      raw[name] = argument;
    return success();
  }

  /// The value that the rule's argument `name` stands for.
  Value prepare(StringRef name) {
    if (hasKeyHeads(name.str()))
      return buildNormalised(builder, loc, spec.inputs, raw[name.str()],
                             name == "q" ? spec.inputs.scale : 1);
    if (name == "g")
      return buildLogDecay(builder, loc, spec.inputs, raw["decay"],
                           raw["A_log"], raw["dt_bias"]);
    if (isBeta(name.str()))
      return buildBeta(builder, loc, spec.inputs, raw[name.str()]);
    return raw[name.str()];
  }

  LogicalResult cloneRule() {
    for (Operation &op : rule.getBody().front()) {
      // exp of a decay that came in linear form: no round trip through log.
      if (auto exp = dyn_cast<math::ExpOp>(op))
        if (auto log =
                mapping.lookup(exp.getOperand()).getDefiningOp<math::LogOp>()) {
          mapping.map(exp.getResult(), log.getOperand());
          continue;
        }
      if (!isRuleOp(op))
        return op.emitError(
                   "a rule may use arith, math and the decant rule ops, "
                   "without regions; found '")
               << op.getName() << "'";
      Operation *copy = builder.clone(op, mapping);
      for (OpResult result : copy->getResults()) {
        const Type type = bindDims(result.getType(), spec.heads);
        if (!type)
          return op.emitError("has type ")
                 << result.getType() << "; the spec's dims are "
                 << spec.heads.keyDim << " x " << spec.heads.valueDim;
        result.setType(type);
      }
    }
    return success();
  }

  const DecodeSpec &spec;
  const TargetInfo &target;
  RuleOp rule;
  OpBuilder builder;
  Location loc;
  Block *body = nullptr;
  std::map<std::string, Value> raw;
  IRMapping mapping;
};

} // namespace

OwningOpRef<ModuleOp> decant::importSpec(const DecodeSpec &spec,
                                         const TargetInfo &target,
                                         MLIRContext *context) {
  RuleOp rule;
  OwningOpRef<ModuleOp> source = parseRule(spec, context, rule);
  if (!source)
    return {};
  OwningOpRef<ModuleOp> module = ModuleOp::create(rule.getLoc());
  if (failed(Importer(spec, target, rule).build(*module)) ||
      failed(mlir::verify(*module)))
    return {};
  return module;
}

std::optional<std::vector<RuleInput>> decant::ruleInputs(const DecodeSpec &spec,
                                                         MLIRContext *context) {
  RuleOp rule;
  OwningOpRef<ModuleOp> source = parseRule(spec, context, rule);
  if (!source || failed(checkKnownInputs(rule)))
    return std::nullopt;
  std::vector<RuleInput> inputs;
  for (auto [argument, name] : llvm::drop_begin(
           llvm::zip(rule.getBody().getArguments(),
                     rule.getArgNames().getAsValueRange<StringAttr>()))) {
    const auto source = sourceOf(rule.getArgRoles(), argument.getArgNumber());
    if (source != RuleInput::Carried)
      inputs.push_back({name.str(), kindOf(argument.getType()), source});
  }
  return inputs;
}
