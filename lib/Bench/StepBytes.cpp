//===- StepBytes.cpp - the memory traffic of one step ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBytes.h"

using namespace decant;
using namespace decant::bench;

namespace {

/// The bytes of one token's record.
double recordBytes(const SlotLayout &layout) {
  const int64_t all = layout.recordKeyDecay.bytes() +
                      layout.recordValueDecay.bytes() +
                      layout.recordKeys.bytes() + layout.recordValues.bytes();
  return double(all) / layout.window;
}

/// An image whose schedule cannot be read was made by another version, which
/// knew no other boundary.
Boundary boundaryOf(const KernelImage &image) {
  const Expected<Schedule> schedule = parseSchedule(image.scheduleText);
  return schedule ? schedule->boundary : Boundary::Apart;
}

} // namespace

std::vector<WindowStep> decant::bench::windowSteps(const KernelImage &image) {
  const int64_t window = image.layout.window;
  if (window == 1)
    return {{0, true}};
  std::vector<WindowStep> steps;
  for (int64_t step = 0; step < window; ++step)
    steps.push_back({step, step == window - 1});
  return steps;
}

std::vector<Traffic> decant::bench::stepTraffic(const KernelImage &image,
                                                const WindowStep &step) {
  const SlotLayout &layout = image.layout;
  const double heads = layout.valueHeads;
  const bool hasWindow = layout.window > 1;
  // Without a window a step rewrites the state that it reads.
  const bool again =
      hasWindow && step.folds && boundaryOf(image) == Boundary::Apart;
  double codes = 0;
  for (int head = 0; head < layout.valueHeads; ++head)
    codes += layout.codeBytes(head);
  auto state = [&](const char *what, double bytes) {
    return Traffic{what, heads * bytes * (again ? 2 : 1),
                   step.folds ? heads * bytes : 0};
  };
  std::vector<Traffic> list = {
      state("codes", codes / heads), state("scales", layout.scaleBytes()),
      state("compensators", layout.compKeys.bytes() +
                                layout.compValues.bytes() +
                                layout.compScale.bytes())};
  if (hasWindow) {
    const double record = recordBytes(layout);
    const int64_t records = step.fill + (again ? layout.window : 0);
    list.push_back({"records", heads * record * records, heads * record});
    const double totals =
        double(layout.totalKeyDecay.bytes() + layout.totalValueDecay.bytes()) /
        layout.places();
    list.push_back(
        {"total decays", heads * totals * (again ? 2 : 1), heads * totals});
  }
  list.push_back({"cursors", heads * layout.cursor.bytes(),
                  heads * layout.cursor.bytes()});
  Traffic inputs{"inputs"}, outputs{"outputs"};
  if (const KernelEntry *entry = image.find("step"))
    for (const KernelArg &arg : entry->args) {
      if (arg.name != "state")
        (arg.writable ? outputs.written : inputs.read) +=
            double(arg.rowWidth) * elementBytes(arg.type);
    }
  list.push_back(inputs);
  list.push_back(outputs);
  return list;
}

std::vector<Traffic> decant::bench::stepTraffic(const KernelImage &image) {
  const std::vector<WindowStep> steps = windowSteps(image);
  std::vector<Traffic> mean;
  for (const WindowStep &step : steps) {
    const std::vector<Traffic> list = stepTraffic(image, step);
    mean.resize(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      mean[i].what = list[i].what;
      mean[i].read += list[i].read / double(steps.size());
      mean[i].written += list[i].written / double(steps.size());
    }
  }
  return mean;
}

Traffic decant::bench::totalOf(const std::vector<Traffic> &list) {
  Traffic total{"total"};
  for (const Traffic &traffic : list) {
    total.read += traffic.read;
    total.written += traffic.written;
  }
  return total;
}
