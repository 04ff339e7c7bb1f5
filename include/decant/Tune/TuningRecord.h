//===- TuningRecord.h - which schedule won, where and why -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a tuner found, as a file that people read, merge and send to each other.
// A record belongs to one spec on one class of devices; it says which schedule
// a batch gets, and beside each choice the time, its spread and what it was
// compared with. A file may also hold choices of formats: what errors, bits and
// times the formats of a layer had on given traces, and which was taken.
//
// Times are the device's and differ with driver and compiler, so both are part
// of a record's key; RecordStore.h says what still serves when they differ.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TUNE_TUNINGRECORD_H
#define DECANT_TUNE_TUNINGRECORD_H

#include "decant/Core/Schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace decant {

/// Devices that may share a record.
struct DeviceClass {
  std::string name;             // as the driver or the host calls it
  std::string target;           // "sm_90a"
  std::string memory = "other"; // bandwidth to two digits, "4.9 TB/s"
  std::string driver = "none";  // "580.159.04"; none for the host
};

struct TuningKey {
  std::string spec;     // its name, for people: two names may mean equal specs
  std::string specHash; // of canonicalText()
  DeviceClass device;
  std::string compiler;
};

/// 16 hex digits.
std::string specHash(const DecodeSpec &spec);
TuningKey tuningKey(const DecodeSpec &spec, const DeviceClass &device,
                    const std::string &compiler);

/// The fields in which two keys differ, each as "driver 580.95 in the record,
/// 580.159 here"; names of specs do not count.
std::vector<std::string> differences(const TuningKey &record,
                                     const TuningKey &here);

/// Microseconds of a step, and how many times it was measured; 0 repeats: it
/// was not, a model said so.
struct StepTimes {
  double us = 0, p10 = 0, p90 = 0;
  int repeats = 0;
};

/// What batches from..to get; the last range has no end.
struct TunedRange {
  int64_t from = 1;
  std::optional<int64_t> to;
  int64_t batch = 1; // that was timed, one of from..to
  std::string schedule;
  StepTimes time;
  std::string against; // the schedule that it had to beat
  StepTimes againstTime;
  std::string why;
};

enum class TimesFrom { Measured, Modelled };
const char *toString(TimesFrom source);

struct TuningRecord {
  TuningKey key;
  TimesFrom times = TimesFrom::Measured;
  /// All schedules work on slots of this order: a program's slots have one.
  CodeOrder order = CodeOrder::Rows;
  std::string schedule; // the best one for all batches together
  std::vector<TunedRange> ranges;
  std::string summary; // the choice in one paragraph

  /// The range of `batch`.
  const TunedRange &rangeOf(int64_t batch) const;
};

/// A format of the layer: what its fields are, what it costs and what it gives.
struct FormatPoint {
  std::string name;
  std::string state, window; // the spec's objects, as JSON text
  double outputError = 0, stateError = 0;
  double bitsPerElement = 0;
  std::vector<StepTimes> times; // one for each batch of the choice; may be none
  bool onFront = false; // no other is at least as good in error, bits and time
};

struct FormatChoice {
  TuningKey key; // of the spec that was asked about
  TimesFrom timesFrom = TimesFrom::Measured;
  std::vector<std::string> traces; // names of files, with their tokens
  std::string errorsFrom;          // how they were computed
  std::optional<double> maxError, maxBits;
  std::vector<int64_t> batches;
  std::vector<FormatPoint> points; // the first one is the format asked about
  std::string chosen;              // the name of a point
  std::string summary;
};

struct TuningFile {
  std::vector<TuningRecord> records;
  std::vector<FormatChoice> choices;
};

std::string toJson(const TuningFile &file);

/// Errors name `label`, the JSON path, what was found and what is allowed.
Expected<TuningFile> parseTuningFile(const std::string &text,
                                     const std::string &label);
Expected<TuningFile> readTuningFile(const std::string &path);

/// Adds what `later` has. Of two records with one key the later stays, but a
/// model never replaces a measurement.
void merge(TuningFile &file, const TuningFile &later);

/// Picks: which schedule a batch gets and which format a layer. Two runs of one
/// tuner differ in their times, and are to agree in these.
enum class DiffOf { PicksAndTimes, Picks };

/// What changes from one file to the other, a line each; empty if nothing that
/// chooses a kernel, or with times, nothing that times one does.
std::vector<std::string> diff(const TuningFile &before, const TuningFile &after,
                              DiffOf what = DiffOf::PicksAndTimes);

} // namespace decant

#endif // DECANT_TUNE_TUNINGRECORD_H
