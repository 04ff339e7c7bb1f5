//===- DecantHost.cpp - states that Decant stores and decodes -------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecantHost.h"

#include "Elements.h"
#include "Error.h"

using namespace bytelm;

namespace {

/// One argument of the step, of all tokens of a call.
struct Argument {
  std::string name;
  DecantRowTensor DecantStepCall::*field = nullptr;
  int type = DECANT_F32;
  int64_t width = 0;  // of a row, in memory
  int64_t offset = 0; // of the argument within that row
  std::vector<char> converted;
  DeviceBuffer buffer;
  const char *base = nullptr; // where the kernel reads, for the current call
};

class DecantStates : public LayerStates {
public:
  DecantStates(ProgramHandle program, const std::string &name,
               const LayerShape &shape, int rows, DeviceMemory &memory)
      : program(std::move(program)), name(name), shape(shape), rows(rows),
        memory(memory) {
    info_ = DECANT_INIT(DecantProgramInfo);
    check(decantProgramQuery(this->program.get(), &info_), name);
    for (int32_t i = 0; i < info_.step_argument_count; ++i)
      bind(i);
    createSlots();
  }

  void decode(const StateInputs &inputs) override {
    for (Argument &argument : arguments)
      argument.base = provide(argument, inputs);
    char *const out = provideOut(inputs);
    DecantStepCall call = DECANT_INIT(DecantStepCall);
    call.pool = pool();
    call.rows.slots = static_cast<const int32_t *>(slots.data());
    call.rows.rows = rows;
    for (int token = 0; token < inputs.tokens; ++token) {
      const int64_t row = int64_t(token) * rows;
      for (const Argument &argument : arguments)
        call.*argument.field = {argument.base +
                                    (row * argument.width + argument.offset) *
                                        elementBytes(argument.type),
                                argument.width};
      call.out = out + row * shape.valueWidth() * elementBytes(outType);
      check(decantProgramStep(program.get(), &call), name);
    }
    takeOut(inputs);
  }

  StateInfo info() const override {
    StateInfo info;
    info.spec = info_.spec_name;
    info.bytesPerHead = info_.state_bytes_per_head;
    info.slotBytes = info_.slot_bytes;
    info.bitsPerElement = info_.bits_per_element;
    info.window = info_.window;
    info.compensators = info_.compensators;
    return info;
  }

private:
  /// Which of the engine's tensors argument `index` of the step is.
  void bind(int32_t index) {
    DecantArgumentInfo info = DECANT_INIT(DecantArgumentInfo);
    check(decantProgramGetArgument(program.get(), index, &info), name);
    Argument argument;
    argument.name = info.name;
    argument.type = info.type;
    argument.width = shape.qkvWidth();
    if (argument.name == "out")
      outType = info.type;
    if (!info.is_pointer || argument.name == "state" ||
        argument.name == "slots" || argument.name == "out")
      return;
    if (argument.name == "qkv") {
      argument.field = &DecantStepCall::qkv;
    } else if (argument.name == "q") {
      argument.field = &DecantStepCall::q;
    } else if (argument.name == "k") {
      argument.field = &DecantStepCall::k;
      argument.offset = shape.keyWidth();
    } else if (argument.name == "v") {
      argument.field = &DecantStepCall::v;
      argument.offset = 2 * shape.keyWidth();
    } else if (argument.name == "decay") {
      argument.field = &DecantStepCall::decay;
      argument.width = shape.decayWidth();
    } else if (argument.name == "beta") {
      argument.field = &DecantStepCall::beta;
      argument.width = shape.valueHeads;
    } else {
      wrongInput("{}: its kernel reads '{}'; a {} layer of this model has q, "
                 "k, v, decay and beta",
                 name, argument.name, toString(shape.kind));
    }
    const bool gate = argument.name == "decay" || argument.name == "beta";
    if (gate && info.row_width != argument.width)
      wrongInput("{}: its kernel reads {} numbers of '{}' per token; a {} "
                 "layer of this model has {}",
                 name, info.row_width, argument.name, toString(shape.kind),
                 argument.width);
    arguments.push_back(std::move(argument));
  }

  void createSlots() {
    poolMemory = memory.allocate(info_.slot_bytes * rows);
    std::vector<int32_t> numbers(rows);
    for (int row = 0; row < rows; ++row)
      numbers[row] = row;
    slots = memory.allocate(rows * sizeof(int32_t));
    memory.upload(slots.data(), numbers.data(), rows * sizeof(int32_t));
    DecantZeroCall zero = DECANT_INIT(DecantZeroCall);
    zero.pool = pool();
    zero.slots = numbers.data();
    zero.count = rows;
    check(decantProgramZero(program.get(), &zero), name);
  }

  DecantSlotPool pool() { return {poolMemory.data(), info_.slot_bytes, rows}; }

  /// The argument where the kernel can read it, in the type that it reads.
  const char *provide(Argument &argument, const StateInputs &inputs) {
    const float *from = argument.field == &DecantStepCall::decay  ? inputs.decay
                        : argument.field == &DecantStepCall::beta ? inputs.beta
                                                                  : inputs.qkv;
    const int64_t count = int64_t(inputs.tokens) * rows * argument.width;
    const int64_t bytes = count * elementBytes(argument.type);
    const void *host = from;
    if (argument.type != DECANT_F32) {
      argument.converted.resize(bytes);
      fromFloats(argument.type, from, count, argument.converted.data());
      host = argument.converted.data();
    }
    if (memory.isHost())
      return static_cast<const char *>(host);
    if (argument.buffer.bytes() < bytes)
      argument.buffer = memory.allocate(bytes);
    memory.upload(argument.buffer.data(), host, bytes);
    return static_cast<const char *>(argument.buffer.data());
  }

  char *provideOut(const StateInputs &inputs) {
    const int64_t bytes = outCount(inputs) * elementBytes(outType);
    if (memory.isHost() && outType == DECANT_F32)
      return reinterpret_cast<char *>(inputs.out);
    if (outBuffer.bytes() < bytes)
      outBuffer = memory.allocate(bytes);
    return static_cast<char *>(outBuffer.data());
  }

  void takeOut(const StateInputs &inputs) {
    const int64_t bytes = outCount(inputs) * elementBytes(outType);
    if (memory.isHost() && outType == DECANT_F32)
      return;
    outHost.resize(bytes);
    memory.download(outHost.data(), outBuffer.data(), bytes);
    toFloats(outType, outHost.data(), outCount(inputs), inputs.out);
  }

  int64_t outCount(const StateInputs &inputs) const {
    return int64_t(inputs.tokens) * rows * shape.valueWidth();
  }

  ProgramHandle program;
  std::string name;
  LayerShape shape;
  int rows;
  DeviceMemory &memory;
  DecantProgramInfo info_;
  std::vector<Argument> arguments;
  int outType = DECANT_F32;
  DeviceBuffer poolMemory, slots, outBuffer;
  std::vector<char> outHost;
};

} // namespace

void bytelm::check(DecantStatus status, const std::string &what) {
  if (status == DECANT_OK)
    return;
  const std::string text =
      fmt::format("{}{}{}", what, what.empty() ? "" : ": ", decantLastError());
  if (status == DECANT_INVALID_INPUT || status == DECANT_UNAVAILABLE)
    throw InputError(text);
  throw JobError(text);
}

DecantHost::DecantHost(const std::string &device, int threads) {
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  options.threads = threads;
  DecantEngine *madeEngine = nullptr;
  check(decantEngineCreate(&options, &madeEngine), "");
  engine.reset(madeEngine);
  DecantDevice *opened = nullptr;
  check(decantEngineOpenDevice(engine.get(), device.c_str(), &opened), "");
  this->device.reset(opened);
  DecantDeviceInfo info = DECANT_INIT(DecantDeviceInfo);
  check(decantDeviceGetInfo(opened, &info), "");
  name = info.name;
  memory = info.is_cuda ? cudaMemory(info.ordinal) : hostMemory();
}

std::unique_ptr<LayerStates> DecantHost::states(const SpecHandle &spec,
                                                const std::string &name,
                                                const LayerShape &shape,
                                                int rows) {
  DecantProgram *program = nullptr;
  check(decantEnginePrepare(engine.get(), spec.get(), device.get(), nullptr,
                            &program),
        name);
  return std::make_unique<DecantStates>(ProgramHandle(program), name, shape,
                                        rows, *memory);
}
