//===- EmitCuda.cpp - stage rule to CUDA C++ ------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a decant.decode. Out: one kernel of plain loops, one per op, in order;
// nothing is fused and nothing is kept in registers but scalars, which every
// thread of a block has. A loop's elements are dealt out to the threads, and
// all of them meet after it.
//
// Not through EmitC: it has no tensors, so the loops would have to be made by a
// lowering, one more thing to trust; and it names values by number and has no
// place for the comment that says what a loop is for.
//
//===----------------------------------------------------------------------===//

#include "EmitCuda.h"

#include "CudaExpressions.h"
#include "Decant/Decant.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

#include <fmt/format.h>

using namespace decant;

namespace {

/// Of a block: enough for all values of a state at once, and few enough for any
/// rule's registers.
constexpr int kThreads = 128;
constexpr const char *kSymbol = "decant_rule";

std::string print(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

/// Letters, digits and underscores of an argument's name.
std::string identifier(llvm::StringRef name) {
  std::string text = name.str();
  for (char &c : text)
    if (!llvm::isAlnum(c))
      c = '_';
  return text;
}

class Printer {
public:
  Printer(DecodeOp decode, const std::string &layer)
      : decode(decode), layer(layer), body(decode.getBody().front()),
        heads(decode.getHeads()), inputs(decode.getInputs()) {
    const auto state = llvm::cast<StateType>(body.getArgument(0).getType());
    keys = state.getKeyDim();
    values = state.getValueDim();
    size = keys * values;
  }

  Expected<CudaSource> print() {
    findCarried();
    openState();
    loadArguments();
    for (mlir::Operation &op : body)
      DECANT_TRY(add(&op));
    CudaSource source;
    source.carried = int(carried.size());
    source.workSize = workSize;
    source.entry.role = "rule";
    source.entry.symbol = kSymbol;
    source.entry.blocksPerRow = int(heads.getValue());
    source.entry.threads = kThreads;
    // Last, since only now everything is known that it depends on.
    source.text = title() + signature(source.entry) + prologue() + text + "}\n";
    return source;
  }

private:
  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args &&...args) {
    text += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  /// for each i of `count`: statement.
  void loop(int64_t count, const std::string &statement) {
    line("for (int i = threadIdx.x; i < {}; i += blockDim.x)", count);
    line("  {}", statement);
    line("__syncthreads();");
  }
  /// A name that neither C++ nor this text has otherwise.
  std::string newName(llvm::StringRef base) {
    return fmt::format("{}_{}", identifier(base), ++nameCount);
  }

  int64_t lengthOf(mlir::Type type) const {
    const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor ? tensor.getDimSize(0) : 0;
  }
  /// Memory of this block.
  std::string newArray(const std::string &name, int64_t count) {
    line("real *const {} = memory + {};", name, workSize);
    workSize += count;
    return name;
  }

  /// What a loop over i says for one element of `value`.
  std::string element(mlir::Value value) {
    const std::string &name = names[value];
    return lengthOf(value.getType()) == 0 || splats.count(name) ? name
                                                                : name + "[i]";
  }

  /// `result` is what `expression` is for every i, or once for a scalar.
  void assign(mlir::Value result, llvm::StringRef base,
              const std::string &expression) {
    const std::string name = names[result] = newName(base);
    const int64_t length = lengthOf(result.getType());
    if (length == 0) {
      const bool truth = result.getType().isInteger(1);
      line("const {} {} = {};", truth ? "bool" : "real", name, expression);
      return;
    }
    newArray(name, length);
    loop(length, fmt::format("{}[i] = {};", name, expression));
  }

  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  auto ruleArguments() {
    return llvm::drop_begin(
        llvm::zip(decode.getArgNames().getAsValueRange<mlir::StringAttr>(),
                  body.getArguments()));
  }
  RuleInput::Source sourceOfArgument(mlir::BlockArgument argument) {
    return sourceOf(decode.getArgRoles(), argument.getArgNumber());
  }
  bool hasRows(llvm::StringRef name, mlir::BlockArgument argument) {
    return !isGateParameter(name.str()) &&
           sourceOfArgument(argument) != RuleInput::Layer;
  }
  ElementType typeOf(llvm::StringRef name, mlir::BlockArgument argument) {
    if (!hasRows(name, argument))
      return ElementType::F32;
    const bool gate = name == "decay" || isBeta(name.str()) ||
                      sourceOfArgument(argument) == RuleInput::Gate;
    return toElementType(gate ? inputs.getGate() : inputs.getType());
  }
  bool isPacked(llvm::StringRef name) {
    return inputs.getLayout() == QkvLayout::Packed &&
           (name == "q" || name == "k" || name == "v");
  }

  void findCarried() {
    for (auto [name, argument] : ruleArguments())
      if (sourceOfArgument(argument) == RuleInput::Carried)
        carried.push_back(argument);
  }

  void openState() { states[body.getArgument(0)] = "S"; }

  void loadArguments() {
    for (auto [name, argument] : ruleArguments()) {
      const int64_t width = std::max<int64_t>(1, lengthOf(argument.getType()));
      if (sourceOfArgument(argument) == RuleInput::Carried) {
        const auto number = llvm::find(carried, argument) - carried.begin();
        assign(argument, name, fmt::format("Z[{} + i]", number * keys));
        continue;
      }
      const ElementType type = typeOf(name, argument);
      const int64_t count =
          hasKeyHeads(name.str()) ? heads.getKey() : heads.getValue();
      std::string array = isPacked(name) ? "qkv" : arrayName(name), place;
      int64_t rowWidth = count * width, first = 0;
      if (isPacked(name)) {
        const int64_t half = heads.getKey() * keys;
        rowWidth = 2 * half + heads.getValue() * values;
        first = name == "q" ? 0 : name == "k" ? half : 2 * half;
      }
      if (hasRows(name, argument))
        place = fmt::format("row * {} + ", rowWidth);
      if (first > 0)
        place += fmt::format("{} + ", first);
      const char *head = hasKeyHeads(name.str()) ? "keyHead" : "head";
      place += width == 1 ? head : fmt::format("{} * {}", head, width);
      if (lengthOf(argument.getType()) > 0)
        place += " + i";
      const int64_t perRow = hasRows(name, argument) ? rowWidth : 0;
      if (!isPacked(name))
        addInput(array, name.str(), type, perRow,
                 width == 1 ? fmt::format("{}", count)
                            : fmt::format("{}, {}", count, width));
      else if (arrayNames.insert("qkv").second)
        addInput(array, "qkv", type, perRow, fmt::format("{}", rowWidth));
      assign(argument, name,
             cudaLoad(type, fmt::format("in_{}[{}]", array, place), helpers));
    }
  }

  /// Names of arguments may differ in what no C++ name has.
  std::string arrayName(llvm::StringRef name) {
    std::string array = identifier(name);
    while (array == "qkv" || !arrayNames.insert(array).second)
      array += '_';
    return array;
  }

  void addInput(const std::string &array, const std::string &name,
                ElementType type, int64_t rowWidth, const std::string &shape) {
    KernelArg arg;
    arg.name = name;
    arg.type = type;
    arg.align = elementBytes(type);
    arg.rowWidth = rowWidth;
    inputArgs.push_back(arg);
    parameters.push_back(
        {fmt::format("const {} *in_{}",
                     type == ElementType::F32 ? "float" : "unsigned short",
                     array),
         fmt::format("{} [{}{}]", toString(type), rowWidth > 0 ? "rows, " : "",
                     shape)});
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  Status add(mlir::Operation *op) {
    return llvm::TypeSwitch<mlir::Operation *, Status>(op)
        .Case([&](DecayOp decay) {
          const mlir::Value factor = decay.getFactor();
          const auto axis = axisOf(factor.getType());
          const std::string &name = names[factor];
          changeState(decay.getState(), decay.getResult(),
                      !axis                      ? name + " {}"
                      : *axis == VectorAxis::Key ? "diag(" + name + ") {}"
                                                 : "{} diag(" + name + ")",
                      "{} * " + onState(factor));
          return Status();
        })
        .Case([&](WriteOp write) {
          const mlir::Value key = write.getKey(), value = write.getValue();
          changeState(write.getState(), write.getResult(),
                      "{} + " + names[key] + " " + names[value] + "^T",
                      "{} + " + onState(key) + " * " + onState(value));
          return Status();
        })
        .Case([&](ReadOp read) {
          addRead(read.getState(), read.getVector(), read.getResult(), "read",
                  "{}^T {}", values, keys, fmt::format("j * {} + i", values));
          return Status();
        })
        .Case([&](ReadKeyOp read) {
          addRead(read.getState(), read.getVector(), read.getResult(),
                  "read_key", "{} {}", keys, values,
                  fmt::format("i * {} + j", values));
          return Status();
        })
        .Case([&](DotOp dot) {
          const std::string name = names[dot.getResult()] = newName("dot");
          line("real {} = 0;", name);
          line("for (int i = 0; i < {}; ++i)",
               lengthOf(dot.getLhs().getType()));
          line("  {} += {} * {};", name, element(dot.getLhs()),
               element(dot.getRhs()));
          return Status();
        })
        .Case([&](YieldOp yield) {
          finish(yield);
          return Status();
        })
        .Case([&](mlir::arith::ConstantOp constant) {
          return addConstant(constant);
        })
        .Default([&](mlir::Operation *other) { return addElementwise(other); });
  }

  /// `vector`, of either axis, or a scalar where i counts the state's elements.
  std::string onState(mlir::Value vector) {
    const std::string &name = names[vector];
    const auto axis = axisOf(vector.getType());
    if (!axis || splats.count(name))
      return name;
    return fmt::format("{}[i {} {}]", name,
                       *axis == VectorAxis::Key ? '/' : '%', values);
  }

  /// In place where nobody reads the old state any more.
  /// `formula` and `expression` have the old state at {}, as a whole and
  /// element by element.
  void changeState(mlir::Value from, mlir::Value to, const std::string &formula,
                   const std::string &expression) {
    const std::string old = states[from];
    std::string target = old;
    if (isReadAfter(from, to.getDefiningOp()))
      target = newArray(newName("S"), size);
    states[to] = target;
    line("// {} = {}", target, fmt::format(fmt::runtime(formula), old));
    loop(size, fmt::format("{}[i] = {};", target,
                           fmt::format(fmt::runtime(expression), old + "[i]")));
  }
  static bool isReadAfter(mlir::Value state, mlir::Operation *op) {
    return llvm::any_of(state.getUsers(), [&](mlir::Operation *user) {
      return op->isBeforeInBlock(user);
    });
  }

  void addRead(mlir::Value state, mlir::Value vector, mlir::Value result,
               const char *what, const char *formula, int64_t count,
               int64_t summed, const std::string &place) {
    const std::string name = names[result] = newName(what);
    line("// {} = {}", name,
         fmt::format(fmt::runtime(formula), states[state], names[vector]));
    newArray(name, count);
    std::string factor = names[vector];
    if (!splats.count(factor))
      factor += "[j]";
    line("for (int i = threadIdx.x; i < {}; i += blockDim.x) {{", count);
    line("  real sum = 0;");
    line("  for (int j = 0; j < {}; ++j)", summed);
    line("    sum += {}[{}] * {};", states[state], place, factor);
    line("  {}[i] = sum;", name);
    line("}}");
    line("__syncthreads();");
  }

  Status addConstant(mlir::arith::ConstantOp constant) {
    const std::string name = names[constant.getResult()] = newName("constant");
    const mlir::Attribute value = constant.getValue();
    if (const auto truth = llvm::dyn_cast<mlir::IntegerAttr>(value)) {
      line("const bool {} = {};", name,
           truth.getValue().isZero() ? "false" : "true");
      return {};
    }
    if (const auto scalar = llvm::dyn_cast<mlir::FloatAttr>(value)) {
      line("const real {} = {};", name,
           cudaLiteral(scalar.getValue().convertToFloat()));
      return {};
    }
    const auto dense = llvm::dyn_cast<mlir::DenseFPElementsAttr>(value);
    if (!dense)
      return unknown(constant);
    if (dense.isSplat()) {
      splats.insert(name);
      line("const real {} = {};", name,
           cudaLiteral(dense.getSplatValue<float>()));
      return {};
    }
    newArray(name, dense.getNumElements());
    // By every thread, since all write the same.
    for (auto [i, element] : llvm::enumerate(dense.getValues<float>()))
      line("{}[{}] = {};", name, i, cudaLiteral(element));
    line("__syncthreads();");
    return {};
  }

  Status addElementwise(mlir::Operation *op) {
    if (op->getNumResults() != 1)
      return unknown(op);
    std::vector<std::string> operands;
    for (mlir::Value operand : op->getOperands()) {
      if (!names.count(operand))
        return unknown(op);
      operands.push_back(element(operand));
    }
    const auto expression = cudaExpression(op, operands, helpers);
    if (!expression)
      return unknown(op);
    assign(op->getResult(0), op->getName().stripDialect(), *expression);
    return {};
  }

  void finish(YieldOp yield) {
    line("// The output, and what the next token finds.");
    const std::string last = states[yield.getState()];
    if (last != "S")
      loop(size, fmt::format("S[i] = {}[i];", last));
    for (auto [number, vector] : llvm::enumerate(yield.getCarried()))
      loop(keys, fmt::format("Z[{} + i] = {};", int64_t(number) * keys,
                             element(vector)));
    line("for (int i = threadIdx.x; i < {}; i += blockDim.x)", values);
    line("  out[block * {} + i] = {};", values, element(yield.getOutput()));
  }

  Status unknown(mlir::Operation *op) {
    return Status::invalid(fmt::format(
        "@{}: '{}' has no form in CUDA C++; decant's rule ops and element-wise "
        "ops of arith and math have one",
        decode.getSymName().str(), ::print(op)));
  }

  //===--------------------------------------------------------------------===//
  // Around the body
  //===--------------------------------------------------------------------===//

  std::string title() {
    std::string result = fmt::format(
        "// Rule @{} of {}:\n"
        "// one token of each row, on states that nothing rounds. Block b "
        "decodes\n"
        "// value head b % {} of row b / {}.\n"
        "#ifndef DECANT_REAL\n#define DECANT_REAL float\n#endif\n"
        "typedef DECANT_REAL real;\n\n",
        decode.getSymName().str(), layer, heads.getValue(), heads.getValue());
    for (CudaHelper helper : helpers)
      result += cudaHelperText(helper) + "\n";
    return result;
  }

  std::string signature(KernelEntry &entry) {
    struct Parameter {
      std::string declaration, comment;
    };
    auto add = [&](const std::string &name, bool writable,
                   const Parameter &parameter) {
      KernelArg arg;
      arg.name = name;
      arg.align = 4;
      arg.writable = writable;
      entry.args.push_back(arg);
      all.push_back({parameter.declaration, parameter.comment});
    };
    const int64_t count = heads.getValue();
    all.clear();
    add("state", true,
        {"real *state",
         fmt::format("[slots, {}, {}, {}]", count, keys, values)});
    if (!carried.empty())
      add("carried", true,
          {"real *carried",
           fmt::format("[slots, {}, {}, {}]", count, carried.size(), keys)});
    add("slots", false, {"const int *slots", "[rows]"});
    entry.args.insert(entry.args.end(), inputArgs.begin(), inputArgs.end());
    all.insert(all.end(), parameters.begin(), parameters.end());
    add("out", true,
        {"real *out", fmt::format("[rows, {}, {}]", count, values)});
    add("work", true,
        {"real *work", fmt::format("[rows, {}, {}]", count, workSize)});
    std::string result =
        fmt::format("extern \"C\" __global__ void {}(\n", kSymbol);
    for (size_t i = 0; i < all.size(); ++i)
      result += fmt::format("    {:<32} // {}\n",
                            all[i].first + (i + 1 < all.size() ? "," : ") {"),
                            all[i].second);
    return result;
  }

  std::string prologue() {
    const int64_t count = heads.getValue(), keyHeads = heads.getKey();
    std::string result = fmt::format(
        "  const long long block = blockIdx.x, row = block / {0};\n"
        "  const int head = block % {0}, keyHead = head {1} {2};\n"
        "  const int slot = slots[row];\n",
        count, heads.getMap() == HeadMapKind::Group ? '/' : '%',
        heads.getMap() == HeadMapKind::Group ? count / keyHeads : keyHeads);
    if (inputs.getPad() != PadKind::None)
      result += fmt::format(
          "  if (slot {} 0) {{ // padding\n"
          "    for (int i = threadIdx.x; i < {}; i += blockDim.x)\n"
          "      out[block * {} + i] = 0;\n"
          "    return;\n"
          "  }}\n",
          inputs.getPad() == PadKind::NonPositive ? "<=" : "<", values, values);
    result += fmt::format(
        "  real *const S = state + ((long long)slot * {} + head) * {};\n",
        count, size);
    if (!carried.empty())
      result += fmt::format(
          "  real *const Z = carried + ((long long)slot * {} + head) * {};\n",
          count, int64_t(carried.size()) * keys);
    return result + fmt::format("  real *const memory = work + block * {};\n\n",
                                workSize);
  }

  DecodeOp decode;
  std::string layer;
  mlir::Block &body;
  HeadsAttr heads;
  InputsAttr inputs;
  int64_t keys = 0, values = 0, size = 0;

  std::string text; // of the kernel's body
  std::set<CudaHelper> helpers;
  std::vector<mlir::BlockArgument> carried;
  std::vector<KernelArg> inputArgs;
  std::vector<std::pair<std::string, std::string>> parameters, all;
  llvm::DenseMap<mlir::Value, std::string> names, states;
  std::set<std::string> arrayNames;
  std::set<std::string> splats; // vectors whose elements are one scalar
  int nameCount = 0;
  int64_t workSize = 0;
};

} // namespace

Expected<CudaSource> decant::printCuda(DecodeOp decode,
                                       const std::string &layer) {
  return Printer(decode, layer).print();
}
