//===- Interpreter.cpp - from a rule's IR to float64 ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Interpreter.h"

#include "Decant/Decant.h"
#include "Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

using namespace decant;

namespace {

/// Elements of a scalar or vector type; nothing for any other type.
std::optional<int> lengthOf(mlir::Type type) {
  if (type.isIntOrFloat())
    return 1;
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 1 || !tensor.hasStaticShape())
    return std::nullopt;
  return static_cast<int>(tensor.getDimSize(0));
}

RuleInput::Kind kindOf(mlir::Type type) {
  const std::optional<VectorAxis> axis = axisOf(type);
  if (!axis)
    return RuleInput::Scalar;
  return *axis == VectorAxis::Key ? RuleInput::KeyVector
                                  : RuleInput::ValueVector;
}

std::string print(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

/// The elements of a float constant; nothing for any other attribute.
std::optional<std::vector<double>> constantElements(mlir::Attribute value) {
  const auto toDouble = [](llvm::APFloat element) {
    bool losesInfo = false;
    element.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return element.convertToDouble();
  };
  if (const auto scalar = llvm::dyn_cast<mlir::FloatAttr>(value))
    return std::vector<double>{toDouble(scalar.getValue())};
  if (const auto scalar = llvm::dyn_cast<mlir::IntegerAttr>(value))
    return std::vector<double>{double(!scalar.getValue().isZero())};
  const auto dense = llvm::dyn_cast<mlir::DenseFPElementsAttr>(value);
  if (!dense)
    return std::nullopt;
  std::vector<double> elements;
  for (const llvm::APFloat &element : dense.getValues<llvm::APFloat>())
    elements.push_back(toDouble(element));
  return elements;
}

/// Walks the body once and adds each op to the program.
class Builder {
public:
  explicit Builder(DecodeOp decode)
      : decode(decode), body(decode.getBody().front()),
        program(dim(decode, VectorAxis::Key), dim(decode, VectorAxis::Value)) {}

  Expected<RuleProgram> build() {
    states[body.getArgument(0)] = RuleProgram::firstState();
    for (auto [argument, name] :
         llvm::zip(body.getArguments().drop_front(),
                   decode.getArgNames().getValue().drop_front())) {
      const auto source =
          sourceOf(decode.getArgRoles(), argument.getArgNumber());
      values[argument] =
          source == RuleInput::Carried
              ? program.addCarried()
              : program.addInput({llvm::cast<mlir::StringAttr>(name).str(),
                                  kindOf(argument.getType()), source});
    }
    for (mlir::Operation &op : body)
      DECANT_TRY(add(&op));
    return std::move(program);
  }

private:
  static int dim(DecodeOp decode, VectorAxis axis) {
    const auto state = llvm::cast<StateType>(
        decode.getBody().front().getArgument(0).getType());
    return static_cast<int>(axis == VectorAxis::Key ? state.getKeyDim()
                                                    : state.getValueDim());
  }

  Status add(mlir::Operation *op) {
    return llvm::TypeSwitch<mlir::Operation *, Status>(op)
        .Case([&](DecayOp decay) {
          const RuleProgram::State state = states.lookup(decay.getState());
          const RuleProgram::Value factor = values.lookup(decay.getFactor());
          RuleProgram::State &result = states[decay.getResult()];
          switch (kindOf(decay.getFactor().getType())) {
          case RuleInput::Scalar:
            result = program.addScalarDecay(state, factor);
            break;
          case RuleInput::KeyVector:
            result = program.addKeyDecay(state, factor);
            break;
          case RuleInput::ValueVector:
            result = program.addValueDecay(state, factor);
            break;
          }
          return Status();
        })
        .Case([&](ReadOp read) {
          values[read.getResult()] = program.addRead(
              states.lookup(read.getState()), values.lookup(read.getVector()));
          return Status();
        })
        .Case([&](ReadKeyOp read) {
          values[read.getResult()] = program.addReadKey(
              states.lookup(read.getState()), values.lookup(read.getVector()));
          return Status();
        })
        .Case([&](WriteOp write) {
          states[write.getResult()] = program.addWrite(
              states.lookup(write.getState()), values.lookup(write.getKey()),
              values.lookup(write.getValue()));
          return Status();
        })
        .Case([&](DotOp dot) {
          values[dot.getResult()] = program.addDot(values.lookup(dot.getLhs()),
                                                   values.lookup(dot.getRhs()));
          return Status();
        })
        .Case([&](YieldOp yield) {
          std::vector<RuleProgram::Value> left;
          for (mlir::Value vector : yield.getCarried())
            left.push_back(values.lookup(vector));
          program.finish(states.lookup(yield.getState()),
                         values.lookup(yield.getOutput()), left);
          return Status();
        })
        .Case([&](mlir::arith::ConstantOp constant) {
          return addConstant(constant);
        })
        .Default([&](mlir::Operation *other) { return addElementwise(other); });
  }

  Status addConstant(mlir::arith::ConstantOp constant) {
    const std::optional<std::vector<double>> elements =
        constantElements(constant.getValue());
    if (!elements)
      return unknown(constant);
    values[constant.getResult()] = program.addConstant(*elements);
    return {};
  }

  Status addElementwise(mlir::Operation *op) {
    const RuleProgram::Function function = elementwiseFunction(op);
    const std::optional<int> length = op->getNumResults() == 1
                                          ? lengthOf(op->getResult(0).getType())
                                          : std::nullopt;
    if (!function || !length || op->getNumOperands() > 3)
      return unknown(op);
    std::vector<RuleProgram::Value> operands;
    for (mlir::Value operand : op->getOperands()) {
      const auto found = values.find(operand);
      if (found == values.end())
        return unknown(op);
      operands.push_back(found->second);
    }
    values[op->getResult(0)] =
        program.addElementwise(function, operands, *length);
    return {};
  }

  Status unknown(mlir::Operation *op) {
    return Status::invalid(
        fmt::format("@{}: the reference cannot run '{}'; it knows decant's "
                    "rule ops and element-wise ops of arith and math",
                    decode.getSymName().str(), print(op)));
  }

  DecodeOp decode;
  mlir::Block &body;
  RuleProgram program;
  llvm::DenseMap<mlir::Value, RuleProgram::Value> values;
  llvm::DenseMap<mlir::Value, RuleProgram::State> states;
};

} // namespace

Expected<RuleProgram> decant::buildRuleProgram(DecodeOp decode) {
  return Builder(decode).build();
}
