//===- DecantOps.cpp - parsers and verifiers, in .td order ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decant/Decant.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace decant;

//===----------------------------------------------------------------------===//
// Functions with named arguments: rule, decode and kernel
//===----------------------------------------------------------------------===//

/// The source that `{word}` behind an argument names; a row without one.
static FailureOr<RuleInput::Source>
parseSource(OpAsmParser &parser, const OpAsmParser::Argument &argument) {
  if (!argument.attrs || argument.attrs.empty())
    return RuleInput::Row;
  if (argument.attrs.size() == 1)
    for (RuleInput::Source source :
         {RuleInput::Gate, RuleInput::Layer, RuleInput::Carried})
      if (argument.attrs.contains(toString(source)))
        return source;
  parser.emitError(argument.ssaName.location)
      << "argument " << argument.ssaName.name << " has " << argument.attrs
      << "; allowed is one of {gate}, {layer}, {carried}";
  return failure();
}

/// Parses `(%a: type, %b: type {layer}, ...)` and keeps the names, by which
/// inputs are known, and where they come from.
static ParseResult
parseNamedArguments(OpAsmParser &parser, OperationState &result,
                    SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true, /*allowAttrs=*/true))
    return failure();
  SmallVector<StringRef> names;
  SmallVector<RuleInput::Source> sources;
  for (OpAsmParser::Argument &argument : arguments) {
    names.push_back(argument.ssaName.name.drop_front());
    const FailureOr<RuleInput::Source> source = parseSource(parser, argument);
    if (failed(source))
      return failure();
    sources.push_back(*source);
  }
  result.addAttribute("arg_names", parser.getBuilder().getStrArrayAttr(names));
  if (ArrayAttr roles = rolesAttr(parser.getContext(), sources))
    result.addAttribute("arg_roles", roles);
  return success();
}

static ParseResult parseBody(OpAsmParser &parser, OperationState &result,
                             ArrayRef<OpAsmParser::Argument> arguments) {
  mlir::Region *body = result.addRegion();
  return parser.parseRegion(*body, arguments);
}

static void printNamedArguments(OpAsmPrinter &printer, Block &body,
                                std::optional<ArrayAttr> roles) {
  printer << "(";
  llvm::interleaveComma(
      body.getArguments(), printer, [&](BlockArgument argument) {
        printer.printRegionArgument(argument);
        const auto source = sourceOf(roles, argument.getArgNumber());
        if (source != RuleInput::Row)
          printer << " {" << toString(source) << "}";
      });
  printer << ")";
}

static void nameArguments(ArrayAttr names, mlir::Region &region,
                          OpAsmSetValueNameFn setName) {
  for (auto [argument, name] :
       llvm::zip(region.getArguments(), names.getAsValueRange<StringAttr>()))
    setName(argument, name);
}

/// Checks the arguments and the yield of a rule or a decode.
static LogicalResult verifyTokenBody(Operation *op, Block &body,
                                     std::optional<ArrayAttr> roles,
                                     StringRef label) {
  auto state = body.getNumArguments()
                   ? dyn_cast<StateType>(body.getArgument(0).getType())
                   : StateType();
  if (!state)
    return op->emitOpError("the first argument must be a state (")
           << label << "_c1)";
  for (BlockArgument argument : body.getArguments().drop_front()) {
    const Type type = argument.getType();
    const auto axis = axisOf(type);
    if (!axis && !type.isF32())
      return op->emitOpError("argument ")
             << argument.getArgNumber() << " has type " << type
             << "; f32, a key vector or a value vector is needed (" << label
             << "_c2)";
    if (!axis)
      continue;
    const int64_t dim = cast<RankedTensorType>(type).getDimSize(0);
    const int64_t expected =
        *axis == VectorAxis::Key ? state.getKeyDim() : state.getValueDim();
    if (dim != expected)
      return op->emitOpError("argument ")
             << argument.getArgNumber() << " has type " << type
             << ", the state is " << state << " (" << label << "_c3)";
  }
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getState().getType() != state ||
      !isVectorOf(yield.getOutput().getType(), VectorAxis::Value))
    return op->emitOpError("the body must yield a ")
           << state << " and a value vector (" << label << "_c4)";
  size_t carried = 0;
  for (BlockArgument argument : body.getArguments()) {
    if (sourceOf(roles, argument.getArgNumber()) != RuleInput::Carried)
      continue;
    ++carried;
    if (!isVectorOf(argument.getType(), VectorAxis::Key))
      return op->emitOpError("argument ")
             << argument.getArgNumber() << " is carried and has type "
             << argument.getType() << "; a key vector is needed (" << label
             << "_c5)";
  }
  if (yield.getCarried().size() != carried)
    return op->emitOpError("the body yields ")
           << yield.getCarried().size() << " vectors beside the state and the "
           << "output, and " << carried << " arguments are carried (" << label
           << "_c5)";
  return success();
}

ParseResult RuleOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parseNamedArguments(parser, result, arguments))
    return failure();
  return parseBody(parser, result, arguments);
}

void RuleOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printNamedArguments(printer, getBody().front(), getArgRoles());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void RuleOp::getAsmBlockArgumentNames(mlir::Region &region,
                                      OpAsmSetValueNameFn setName) {
  nameArguments(getArgNames(), region, setName);
}

LogicalResult RuleOp::verifyRegions() {
  return verifyTokenBody(*this, getBody().front(), getArgRoles(), "rule");
}

ParseResult DecodeOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  HeadsAttr heads;
  InputsAttr inputs;
  WindowAttr window;
  FormatAttr format;
  TargetAttr target;
  auto field = [&](StringRef keyword, auto &attr,
                   StringRef attrName) -> ParseResult {
    if (parser.parseKeyword(keyword) ||
        parser.parseCustomAttributeWithFallback(attr))
      return failure();
    result.addAttribute(attrName, attr);
    return success();
  };
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      field("heads", heads, "heads") || field("inputs", inputs, "inputs") ||
      field("window", window, "window") || field("format", format, "format") ||
      field("target", target, "target") ||
      parseNamedArguments(parser, result, arguments))
    return failure();
  return parseBody(parser, result, arguments);
}

void DecodeOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  auto field = [&](StringRef keyword, auto attr) {
    printer.printNewline();
    printer << "    " << keyword << " ";
    printer.printStrippedAttrOrType(attr);
  };
  field("heads", getHeads());
  field("inputs", getInputs());
  field("window", getWindow());
  field("format", getFormat());
  field("target", getTarget());
  printer.printNewline();
  printer << "    ";
  printNamedArguments(printer, getBody().front(), getArgRoles());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void DecodeOp::getAsmBlockArgumentNames(mlir::Region &region,
                                        OpAsmSetValueNameFn setName) {
  nameArguments(getArgNames(), region, setName);
}

LogicalResult DecodeOp::verifyRegions() {
  if (failed(
          verifyTokenBody(*this, getBody().front(), getArgRoles(), "decode")))
    return failure();
  auto state = cast<StateType>(getBody().getArgument(0).getType());
  for (int64_t dim : {state.getKeyDim(), state.getValueDim()})
    if (dim < kMinDim || dim > kMaxDim)
      return emitOpError("the state is ")
             << state << "; dims must be within " << kMinDim << ".." << kMaxDim
             << " (decode_c1)";
  return success();
}

// Only kernels of stage `windowed` have roles, so they are no operand of every
// builder.
std::optional<ArrayAttr> KernelOp::getArgRoles() {
  if (auto roles = (*this)->getAttrOfType<ArrayAttr>("arg_roles"))
    return roles;
  return std::nullopt;
}

void KernelOp::setArgRolesAttr(ArrayAttr roles) {
  (*this)->setAttr("arg_roles", roles);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parseNamedArguments(parser, result, arguments) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parseBody(parser, result, arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printNamedArguments(printer, getBody().front(), getArgRoles());
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"sym_name", "arg_names", "arg_roles"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void KernelOp::getAsmBlockArgumentNames(mlir::Region &region,
                                        OpAsmSetValueNameFn setName) {
  nameArguments(getArgNames(), region, setName);
}

//===----------------------------------------------------------------------===//
// Rule ops
//===----------------------------------------------------------------------===//

static LogicalResult verifyDim(Operation *op, StateType state, Type vector,
                               StringRef label) {
  const auto axis = axisOf(vector);
  if (!axis)
    return success();
  const int64_t dim = cast<RankedTensorType>(vector).getDimSize(0);
  const int64_t expected =
      *axis == VectorAxis::Key ? state.getKeyDim() : state.getValueDim();
  if (dim == expected)
    return success();
  return op->emitOpError("the state is ")
         << state << ", but a vector is " << vector << " (" << label << ")";
}

LogicalResult MmaOp::verify() {
  if (getElementTypeOrSelf(getA().getType()) !=
      getElementTypeOrSelf(getB().getType()))
    return emitOpError("multiplies ")
           << getA().getType() << " by " << getB().getType()
           << "; both must have the same element type";
  if (cast<VectorType>(getA().getType()).getNumElements() !=
      2 * cast<VectorType>(getB().getType()).getNumElements())
    return emitOpError("multiplies ")
           << getA().getType() << " by " << getB().getType()
           << "; A has twice as many elements as B";
  return success();
}

LogicalResult LoadTileOp::verify() {
  auto panel = cast<MemRefType>(getPanel().getType());
  auto result = cast<VectorType>(getResult().getType());
  if (panel.getRank() != 2 || panel.getElementType() != result.getElementType())
    return emitOpError("loads ")
           << result << " from " << panel
           << "; a panel has rows and columns of the same element type";
  if (const auto rows = getRows(); rows && *rows < 1)
    return emitOpError("has ") << *rows << " rows; at least 1 is needed";
  return success();
}

LogicalResult PackCodesOp::verify() {
  if (getScale() && getScale().getType() != getCodes().getType())
    return emitOpError("scales ")
           << getCodes().getType() << " by " << getScale().getType()
           << "; both must be f16";
  return success();
}

/// Codes that are stored as two planes have 6 bits or 3.
static LogicalResult verifyPlanes(Operation *op, int64_t bits) {
  if (bits != 6 && bits != 3)
    return op->emitOpError("has codes of ") << bits
                                            << " bits; 6 or 3 have two "
                                               "planes";
  return success();
}

LogicalResult UnpackPlanesOp::verify() {
  if (const auto part = int64_t(getPart()); part < 0)
    return emitOpError("takes tile ") << part << "; tiles count from 0";
  return verifyPlanes(*this, getBits());
}

LogicalResult PackPlanesOp::verify() {
  if (getScale() && getScale().getType() != getCodes().getType())
    return emitOpError("scales ")
           << getCodes().getType() << " by " << getScale().getType()
           << "; both must be f16";
  return verifyPlanes(*this, getBits());
}

LogicalResult DecayOp::verify() {
  return verifyDim(*this, getState().getType(), getFactor().getType(),
                   "decay_c1");
}

/// `%S, %k[, %u] attr-dict : !decant.state<...>`: the vectors' types follow
/// from the state's, so they are not written.
static ParseResult parseStateOp(OpAsmParser &parser, OperationState &result,
                                ArrayRef<VectorAxis> axes) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands(1 + axes.size());
  StateType state;
  if (parser.parseOperand(operands[0]))
    return failure();
  for (auto &operand : llvm::drop_begin(operands))
    if (parser.parseComma() || parser.parseOperand(operand))
      return failure();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(state))
    return failure();
  SmallVector<Type> types = {state};
  for (VectorAxis axis : axes)
    types.push_back(vectorType(parser.getContext(), axis,
                               axis == VectorAxis::Key ? state.getKeyDim()
                                                       : state.getValueDim()));
  return parser.resolveOperands(operands, types, parser.getNameLoc(),
                                result.operands);
}

ParseResult ReadOp::parse(OpAsmParser &parser, OperationState &result) {
  if (parseStateOp(parser, result, {VectorAxis::Key}))
    return failure();
  auto state = cast<StateType>(result.operands[0].getType());
  result.addTypes(
      vectorType(parser.getContext(), VectorAxis::Value, state.getValueDim()));
  return success();
}

void ReadOp::print(OpAsmPrinter &printer) {
  printer << " " << getState() << ", " << getVector();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getState().getType();
}

LogicalResult ReadOp::verify() {
  if (failed(verifyDim(*this, getState().getType(), getVector().getType(),
                       "read_c1")))
    return failure();
  return verifyDim(*this, getState().getType(), getResult().getType(),
                   "read_c1");
}

ParseResult ReadKeyOp::parse(OpAsmParser &parser, OperationState &result) {
  if (parseStateOp(parser, result, {VectorAxis::Value}))
    return failure();
  auto state = cast<StateType>(result.operands[0].getType());
  result.addTypes(
      vectorType(parser.getContext(), VectorAxis::Key, state.getKeyDim()));
  return success();
}

void ReadKeyOp::print(OpAsmPrinter &printer) {
  printer << " " << getState() << ", " << getVector();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getState().getType();
}

LogicalResult ReadKeyOp::verify() {
  if (failed(verifyDim(*this, getState().getType(), getVector().getType(),
                       "read_key_c1")))
    return failure();
  return verifyDim(*this, getState().getType(), getResult().getType(),
                   "read_key_c1");
}

// The output is a value vector of the state's value dim, and what follows are
// key vectors of its key dim, so only the state's type is written.
ParseResult YieldOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands(2);
  StateType state;
  if (parser.parseOperand(operands[0]) || parser.parseComma() ||
      parser.parseOperand(operands[1]))
    return failure();
  while (succeeded(parser.parseOptionalComma()))
    if (parser.parseOperand(operands.emplace_back()))
      return failure();
  if (parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(state))
    return failure();
  SmallVector<Type> types(
      operands.size(),
      vectorType(parser.getContext(), VectorAxis::Key, state.getKeyDim()));
  types[0] = state;
  types[1] =
      vectorType(parser.getContext(), VectorAxis::Value, state.getValueDim());
  return parser.resolveOperands(operands, types, parser.getNameLoc(),
                                result.operands);
}

void YieldOp::print(OpAsmPrinter &printer) {
  printer << " " << getState() << ", " << getOutput();
  for (Value vector : getCarried())
    printer << ", " << vector;
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getState().getType();
}

ParseResult WriteOp::parse(OpAsmParser &parser, OperationState &result) {
  if (parseStateOp(parser, result, {VectorAxis::Key, VectorAxis::Value}))
    return failure();
  result.addTypes(result.operands[0].getType());
  return success();
}

void WriteOp::print(OpAsmPrinter &printer) {
  printer << " " << getState() << ", " << getKey() << ", " << getValue();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getState().getType();
}

LogicalResult WriteOp::verify() {
  if (failed(verifyDim(*this, getState().getType(), getKey().getType(),
                       "write_c1")))
    return failure();
  return verifyDim(*this, getState().getType(), getValue().getType(),
                   "write_c1");
}

//===----------------------------------------------------------------------===//
// Window ops
//===----------------------------------------------------------------------===//

LogicalResult WindowReadOp::verify() {
  if (getVectors().empty() || getVectors().size() != getResults().size())
    return emitOpError("reads ")
           << getVectors().size() << " vectors into " << getResults().size()
           << " results; as many are needed, at least one (window_read_c1)";
  return success();
}

static LogicalResult verifyPairs(Operation *op, ValueRange keys,
                                 ValueRange values, StringRef label) {
  if (keys.size() == values.size())
    return success();
  return op->emitOpError("has ") << keys.size() << " keys and " << values.size()
                                 << " values (" << label << ")";
}

LogicalResult AppendOp::verify() {
  return verifyPairs(*this, getKeys(), getValues(), "append_c1");
}

LogicalResult AfterOp::verify() {
  auto window = dyn_cast<WindowType>(getStored().getType());
  if (window && window.getTokens() < 2)
    return emitOpError("asks for drafts of ")
           << window << "; its tokens must be 2 or more (after_c1)";
  return success();
}

LogicalResult FoldOp::verify() {
  return verifyPairs(*this, getKeys(), getValues(), "fold_c1");
}

#define GET_OP_CLASSES
#include "Decant/DecantOps.cpp.inc"
