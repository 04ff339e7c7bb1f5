//===- TestSpecs.h - specs that the reference tests share -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_REFERENCE_TESTSPECS_H
#define DECANT_TEST_UNIT_REFERENCE_TESTSPECS_H

#include "decant/Core/SlotLayout.h"

namespace decant::test {

inline DecodeSpec makeSpec(int keyDim, int valueDim, ElementType codes,
                           std::vector<ScaleSpec> scales, int compensators = 0,
                           int window = 1) {
  DecodeSpec spec;
  spec.name = "test";
  spec.rule = {"test", "not compiled here"};
  spec.heads.key = spec.heads.value = 1;
  spec.heads.keyDim = keyDim;
  spec.heads.valueDim = valueDim;
  spec.state.codes = codes;
  spec.state.scales = std::move(scales);
  spec.window.length = window;
  spec.window.compensators = compensators;
  return spec;
}

inline std::vector<ScaleSpec> perValueChannel() {
  return {{Axis::Value, ScaleFit::AbsMax, ElementType::F32}};
}

inline std::vector<ScaleSpec> leapQuantScales() {
  return {{Axis::Key, ScaleFit::SqrtMeanAbs, ElementType::F32},
          {Axis::Value, ScaleFit::AbsMax, ElementType::F32}};
}

inline DecodeSpec leapQuantInt8(int keyDim, int valueDim) {
  return makeSpec(keyDim, valueDim, ElementType::I8, leapQuantScales(), 4, 16);
}

inline RecordShape scalarDecay() {
  return {1, DecayShape::Scalar, DecayShape::None};
}

} // namespace decant::test

#endif // DECANT_TEST_UNIT_REFERENCE_TESTSPECS_H
