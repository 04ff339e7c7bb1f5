//===- CudaGraph.cpp - capture and replay ---------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "decant/Runtime/Cuda.h"

using namespace decant;

struct CudaGraph::Impl {
  std::shared_ptr<CudaContext> context;
  cuda::GraphExec exec = nullptr;

  ~Impl() {
    ContextScope scope(*context);
    if (scope.status().ok() && exec)
      context->driver().graphExecDestroy(exec);
  }
};

CudaGraph::CudaGraph(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
CudaGraph::CudaGraph(CudaGraph &&other) noexcept = default;
CudaGraph &CudaGraph::operator=(CudaGraph &&other) noexcept = default;
CudaGraph::~CudaGraph() = default;

Expected<CudaGraph> CudaGraph::capture(Device &device, StreamHandle handle,
                                       const std::function<Status()> &work) {
  auto *cudaDevice = dynamic_cast<CudaDevice *>(&device);
  if (!cudaDevice)
    return Status::invalid("device " + device.info().name +
                           " has no graphs; a CUDA device is needed");
  auto impl = std::make_unique<Impl>();
  impl->context = cudaDevice->sharedContext();
  const CudaDriver &driver = impl->context->driver();
  auto stream = static_cast<cuda::Stream>(handle);
  ContextScope scope(*impl->context);
  DECANT_TRY(scope.status());
  DECANT_TRY(
      driver.check(driver.streamBeginCapture(stream, cuda::kCaptureThreadLocal),
                   "cuStreamBeginCapture"));
  Status worked = work();
  // The capture ends whatever the work did, or the stream would stay unusable.
  cuda::Graph graph = nullptr;
  Status ended = driver.check(driver.streamEndCapture(stream, &graph),
                              "cuStreamEndCapture");
  if (worked.ok() && ended.ok())
    ended = driver.check(driver.graphInstantiate(&impl->exec, graph, 0),
                         "cuGraphInstantiate");
  if (graph)
    driver.graphDestroy(graph);
  DECANT_TRY(worked);
  DECANT_TRY(ended);
  return CudaGraph(std::move(impl));
}

Status CudaGraph::launch(StreamHandle stream) const {
  ContextScope scope(*impl->context);
  DECANT_TRY(scope.status());
  const CudaDriver &driver = impl->context->driver();
  return driver.check(
      driver.graphLaunch(impl->exec, static_cast<cuda::Stream>(stream)),
      "cuGraphLaunch");
}
