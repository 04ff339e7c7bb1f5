//===- TuneReport.h - what tuning found, for people and programs -*- C++ -*-==//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_TUNEREPORT_H
#define DECANT_TOOLS_TUNEREPORT_H

#include "Command.h"
#include "Tune/FormatTuner.h"

namespace decant::tool {

struct TuneFindings {
  DecodeSpec spec;
  TuningFile file; // what was found, not what the output held before
  std::vector<tune::ScheduleFindings> schedules; // of file.records
  std::optional<tune::FormatFindings> formats;
  DeviceClass device;
  bool ran = true; // false: a model ranked
  double seconds = 0;
  tune::Spent spent;        // of these, on what
  size_t resumed = 0;       // measurements that were there already
  std::string output;       // empty: nothing was written
  std::string chosenBefore; // a format's name, by an earlier run
};

std::string toText(const TuneFindings &findings);
Json toJson(const TuneFindings &findings);

/// A record as a table of its ranges.
std::string toText(const TuningRecord &record);
/// A choice as a table of formats.
std::string formatText(const FormatChoice &choice);

} // namespace decant::tool

#endif // DECANT_TOOLS_TUNEREPORT_H
