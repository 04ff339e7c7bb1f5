//===- DeviceLayer.h - one sequence of a layer on any device ----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: tokens as a Layer gets them. Out: outputs and the decoded state, by the
// kernels of a CPU or a GPU: every tensor goes to the device and back. Layer is
// for what a kernel must not touch; this is for what it computes.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_DEVICELAYER_H
#define DECANT_TEST_UNIT_EXECUTION_DEVICELAYER_H

#include "Layer.h"

namespace decant::test {

class DeviceLayer {
public:
  DeviceLayer(const DecodeSpec &spec, std::shared_ptr<Device> device,
              Engine &engine);

  const SlotLayout &layout() const { return program->layout(); }
  /// Decodes one token of one row; returns [value heads, value dim].
  std::vector<double> step(const Token &token) { return draft({token}); }
  /// Offers tokens, of which a commit accepts the first; returns [tokens, value
  /// heads, value dim]. With one token per step there is one, and no commit.
  std::vector<double> draft(const std::vector<Token> &tokens);
  void commit(int32_t accepted);
  void flush();
  /// [value heads, key dim, value dim].
  std::vector<double> states();

private:
  DeviceBuffer upload(const void *bytes, int64_t count);
  SlotPool slotPool();
  SlotRows slotRows();

  std::shared_ptr<Device> device;
  std::unique_ptr<Program> program;
  DeviceBuffer pool, slot;
};

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_DEVICELAYER_H
