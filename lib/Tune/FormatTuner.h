//===- FormatTuner.h - the best format within bounds ------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a layer, what errors a format leaves on its traces, and bounds. Out: the
// front of error, bits and time, and the fastest format within the bounds, with
// schedules of its own. The steps go from cheap to dear:
//
//   errors of all formats  ->  a model of their times  ->  a short list
//   ->  times with usual schedules  ->  a few formats, all their schedules
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_FORMATTUNER_H
#define DECANT_LIB_TUNE_FORMATTUNER_H

#include "Tune/Formats.h"
#include "Tune/Front.h"
#include "Tune/ScheduleTuner.h"

namespace decant::tune {

/// Relative errors of outputs and final states, of the worst trace.
struct FormatErrors {
  double output = 0, state = 0;
};

struct FormatQuestion {
  FormatSet set = FormatSet::All;
  /// Without a bound on the error, that of the layer's own format.
  Bounds bounds;
  Plans plans;                     // of the layer's key rows, if there are any
  std::vector<std::string> traces; // for the record
  /// Longer windows are not tried; 0: any are. What is not folded often in a
  /// trace has no errors there.
  int64_t mostWindow = 0;
  std::string errorsFrom;
  std::string before; // the name of what an earlier run chose, or empty
  /// Called from several threads.
  std::function<Expected<FormatErrors>(const DecodeSpec &)> errors;
};

struct FormatFindings {
  FormatChoice choice;
  DecodeSpec chosen;
  bool met = false; // whether any format met the bounds
  size_t formats = 0, withErrors = 0;
  /// Of the layer's own format and those whose schedules were searched.
  std::vector<ScheduleFindings> tuned;
};

Expected<FormatFindings> tuneFormats(const DecodeSpec &layer,
                                     const FormatQuestion &question,
                                     const Setup &setup, Journal &journal);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_FORMATTUNER_H
