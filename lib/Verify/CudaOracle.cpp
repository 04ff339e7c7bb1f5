//===- CudaOracle.cpp - the plain rule on a GPU ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaOracle.h"

#include <numeric>

using namespace decant;

Expected<CudaOracle> CudaOracle::create(const DecodeSpec &spec,
                                        std::shared_ptr<Device> device,
                                        const Nvrtc &nvrtc) {
  DECANT_ASSIGN(CudaSource source, emitCuda(spec));
  const DeviceInfo &info = device->info();
  DECANT_ASSIGN(Nvrtc::Code code,
                nvrtc.compile(source.text, spec.name + ".cu", info.computeMajor,
                              info.computeMinor, {"DECANT_REAL=double"}));
  KernelImage image;
  image.specName = spec.name + " (oracle)";
  image.target = code.target;
  image.kind = code.kind;
  image.entries = {source.entry};
  image.code = std::move(code.bytes);
  DECANT_ASSIGN(std::unique_ptr<LoadedImage> kernel,
                device->load(std::move(image)));
  return CudaOracle(spec.heads, std::move(source), std::move(device),
                    std::move(kernel));
}

Expected<DeviceBuffer> CudaOracle::upload(const void *bytes,
                                          int64_t count) const {
  DECANT_ASSIGN(DeviceBuffer buffer, DeviceBuffer::create(device, count));
  DECANT_TRY(device->copyToDevice(buffer.data(), bytes, count, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  return Expected<DeviceBuffer>(std::move(buffer));
}

Status CudaOracle::download(std::vector<double> &values,
                            const DeviceBuffer &buffer) const {
  DECANT_TRY(device->copyToHost(values.data(), buffer.data(),
                                int64_t(values.size() * sizeof(double)),
                                nullptr));
  return device->synchronize(nullptr);
}

Expected<std::vector<double>>
CudaOracle::step(const SyntheticTokens &tokens,
                 const std::vector<SyntheticTokens::Token> &rows,
                 DenseStates &states) {
  const int64_t count = int64_t(rows.size());
  std::vector<double> outputs(count * heads.value * heads.valueDim);
  // Slots 1 .. count, since slot 0 may stand for padding.
  std::vector<int32_t> slots(count);
  std::iota(slots.begin(), slots.end(), 1);
  auto behindSlotZero = [&](const std::vector<double> &values) {
    std::vector<double> all(values.size() / count);
    all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  const int64_t size = sizeof(double);
  std::vector<double> state = behindSlotZero(states.states);
  std::vector<double> carried = behindSlotZero(states.carried);
  std::vector<DeviceBuffer> buffers;
  std::vector<ArgValue> args;
  const DeviceBuffer *stateBuffer = nullptr, *carriedBuffer = nullptr,
                     *outBuffer = nullptr;
  buffers.reserve(source.entry.args.size()); // the pointers stay
  for (const KernelArg &arg : source.entry.args) {
    DeviceBuffer buffer;
    if (arg.name == "state") {
      DECANT_ASSIGN(buffer, upload(state.data(), int64_t(state.size()) * size));
    } else if (arg.name == "carried") {
      DECANT_ASSIGN(buffer,
                    upload(carried.data(), int64_t(carried.size()) * size));
    } else if (arg.name == "slots") {
      DECANT_ASSIGN(buffer, upload(slots.data(), count * 4));
    } else if (arg.name == "out") {
      DECANT_ASSIGN(buffer,
                    upload(outputs.data(), int64_t(outputs.size()) * size));
    } else if (arg.name == "work") {
      DECANT_ASSIGN(buffer,
                    DeviceBuffer::create(device, count * heads.value *
                                                     source.workSize * size));
    } else {
      std::vector<uint8_t> bytes;
      for (int64_t row = 0; row < (arg.rowWidth > 0 ? count : 1); ++row)
        DECANT_TRY(tokens.append(rows[row], arg.name, bytes));
      DECANT_ASSIGN(buffer, upload(bytes.data(), int64_t(bytes.size())));
    }
    buffers.push_back(std::move(buffer));
    ArgValue value;
    value.pointer = buffers.back().data();
    args.push_back(value);
    if (arg.name == "state")
      stateBuffer = &buffers.back();
    if (arg.name == "carried")
      carriedBuffer = &buffers.back();
    if (arg.name == "out")
      outBuffer = &buffers.back();
  }
  DECANT_TRY(kernel->launch("rule", count * heads.value, args, nullptr));
  DECANT_TRY(download(outputs, *outBuffer));
  DECANT_TRY(download(state, *stateBuffer));
  states.states.assign(state.begin() + state.size() / (count + 1), state.end());
  if (carriedBuffer) {
    DECANT_TRY(download(carried, *carriedBuffer));
    states.carried.assign(carried.begin() + carried.size() / (count + 1),
                          carried.end());
  }
  return outputs;
}
