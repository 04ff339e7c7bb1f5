//===- RecordFields.h - every field of a tuning file ------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_RECORDFIELDS_H
#define DECANT_LIB_TUNE_RECORDFIELDS_H

#include "Spec/Fields.h"
#include "decant/Tune/TuningRecord.h"

#include <fmt/format.h>

namespace decant::tune {

constexpr int kTuningVersion = 1;

/// The root object, as the table by which it is validated.
const spec::Field &recordFields();

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_RECORDFIELDS_H
