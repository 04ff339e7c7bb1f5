//===- TestedLayer.h - a program on scratch slots -----------------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pool of its own with a slot for each row of a batch, scattered, between
// poisoned bytes; nothing of the caller's is touched. Rows decode any tokens of
// any sequences; what a kernel wrote can be read back.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_TESTEDLAYER_H
#define DECANT_LIB_VERIFY_TESTEDLAYER_H

#include "SyntheticTokens.h"
#include "decant/Runtime/Program.h"

#include <map>

namespace decant {

class TestedLayer {
public:
  /// Program and tokens must outlive the result. All slots are those of empty
  /// sequences.
  static Expected<TestedLayer>
  create(const DecodeSpec &spec, std::shared_ptr<Device> device,
         const Program &program, const SyntheticTokens &tokens, int64_t rows);

  /// The tokens that one row is to decode: none is a padding row, where a step
  /// decodes one.
  struct RowTokens {
    int sequence = 0;
    int64_t first = 0;
    int count = 0;
  };
  Status step(const std::vector<RowTokens> &rows);
  /// After a step of a program with several tokens per step.
  Status commit(const std::vector<int32_t> &accepted);
  Status flush();

  /// The outputs of one row's `token`-th token in the last step, as bytes.
  const uint8_t *output(int64_t row, int token) const;
  int64_t outputBytes() const;
  /// Whether a padding row was given zeros.
  bool paddingIsZero(int64_t row) const;

  Expected<std::vector<uint8_t>> slot(int64_t row) const;
  /// Ok if nothing was written beside the slots of the rows.
  Status checkPoison() const;

private:
  TestedLayer(const DecodeSpec &spec, std::shared_ptr<Device> device,
              const Program &program, const SyntheticTokens &tokens)
      : spec(spec), device(std::move(device)), program(&program),
        tokens(&tokens) {}

  Status upload(DeviceBuffer &buffer, const void *bytes, int64_t count);
  Expected<std::vector<uint8_t>> read(int64_t slot, int64_t first,
                                      int64_t count) const;
  Status uploadInputs(const std::vector<RowTokens> &rows);
  SlotPool pool() const;
  SlotRows slotRows() const;

  DecodeSpec spec;
  std::shared_ptr<Device> device;
  const Program *program;
  const SyntheticTokens *tokens;
  int64_t stride = 0, slotCount = 0;
  std::vector<int32_t> slots;       // of the rows
  std::vector<int32_t> firstTokens; // of the rows and behind the last, in `out`
  DeviceBuffer memory, slotNumbers, offsets, accepted, out;
  std::map<std::string, DeviceBuffer> inputs;
  std::vector<uint8_t> outputs;
};

} // namespace decant

#endif // DECANT_LIB_VERIFY_TESTEDLAYER_H
