//===- CallCost.cpp - what a launch costs the host ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallCost.h"

#include "SyntheticLayer.h"
#include "decant/Runtime/CApi.h"

#include <chrono>

using namespace decant;
using namespace decant::bench;

namespace {

/// Few enough that the driver's queue (1024 launches) never makes a call wait.
constexpr int kCalls = 100, kWarmUp = 5, kBursts = 30;

DecantRowTensor convert(const RowTensor &tensor) {
  return {tensor.data, tensor.stride};
}

DecantStepCall convert(const StepCall &call,
                       std::vector<DecantNamedTensor> &extra) {
  DecantStepCall result = DECANT_INIT(DecantStepCall);
  result.pool = {call.pool.base, call.pool.strideBytes, call.pool.count};
  result.rows = {call.rows.slots, call.rows.stride, call.rows.rows};
  result.qkv = convert(call.qkv);
  result.q = convert(call.q);
  result.k = convert(call.k);
  result.v = convert(call.v);
  result.decay = convert(call.decay);
  result.beta = convert(call.beta);
  result.A_log = call.aLog;
  result.dt_bias = call.dtBias;
  result.out = call.out;
  for (int i = 0; i < call.extraCount; ++i)
    extra.push_back({call.extra[i].name, convert(call.extra[i].tensor)});
  result.extra = extra.data();
  result.extra_count = call.extraCount;
  result.stream = call.stream;
  return result;
}

Expected<Spread> timeCalls(const DecantProgram &program, DecantStepCall &call,
                           Device &device) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int burst = 0; burst < kWarmUp + kBursts; ++burst) {
    DecantStatus status = DECANT_OK;
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kCalls && status == DECANT_OK; ++i)
      status = decantProgramStep(&program, &call);
    const std::chrono::duration<double, std::micro> spent =
        Clock::now() - begin;
    if (status != DECANT_OK)
      return Status::failed(decantLastError());
    DECANT_TRY(device.synchronize(call.stream));
    if (burst >= kWarmUp)
      times.push_back(spent.count() / kCalls);
  }
  return spreadOf(times);
}

} // namespace

Expected<Spread>
decant::bench::measureStepCall(const DecodeSpec &spec,
                               std::shared_ptr<Device> device,
                               std::unique_ptr<Program> &program) {
  DECANT_ASSIGN(
      LayerRun layer,
      LayerRun::create(spec, device, *program,
                       SlotPlan::dense(1, program->info().slotBytes)));
  DECANT_TRY(layer.upload(makeToken(spec, program->stepArguments(), 1, 0)));
  DECANT_ASSIGN(const StreamHandle stream, device->createStream());
  const LayerRun::BoundCall bound = layer.bind({0, 0, 1}, stream);
  std::vector<DecantNamedTensor> extra;
  DecantStepCall call = convert(bound.call, extra);
  DecantProgram handle{std::move(program)};
  Expected<Spread> spread = timeCalls(handle, call, *device);
  program = std::move(handle.program);
  DECANT_TRY(device->destroyStream(stream));
  return spread;
}
