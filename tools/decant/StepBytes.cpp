//===- StepBytes.cpp - the memory traffic of one step ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBytes.h"

using namespace decant;
using namespace decant::tool;

namespace {

/// The bytes of one token's record.
double recordBytes(const SlotLayout &layout) {
  const int64_t all = layout.recordKeyDecay.bytes() +
                      layout.recordValueDecay.bytes() +
                      layout.recordKeys.bytes() + layout.recordValues.bytes();
  return double(all) / layout.window;
}

} // namespace

std::vector<Traffic> decant::tool::stepTraffic(const KernelImage &image) {
  const SlotLayout &layout = image.layout;
  const double heads = layout.valueHeads, window = layout.window;
  const bool hasWindow = layout.window > 1;
  // Without a window a step rewrites the state; with one, the commit behind
  // every `window` steps reads it once more and rewrites it.
  const double reads = hasWindow ? 1 + 1 / window : 1, writes = 1 / window;
  auto state = [&](const char *what, int64_t bytes) {
    return Traffic{what, heads * bytes * reads, heads * bytes * writes};
  };
  std::vector<Traffic> list = {
      state("codes", layout.codes.bytes()),
      state("scales", layout.keyScale.bytes() + layout.valueScale.bytes()),
      state("compensators",
            layout.compKeys.bytes() + layout.compValues.bytes())};
  if (hasWindow) {
    // Step f of a window finds f records, (window - 1) / 2 in the mean, and
    // adds one; the commit reads them all.
    const double found = (window - 1) / 2, record = recordBytes(layout);
    list.push_back({"records", heads * record * (found + 1), heads * record});
    const double totals =
        layout.totalKeyDecay.bytes() + layout.totalValueDecay.bytes();
    list.push_back(
        {"total decays", heads * totals * (1 + 1 / window), heads * totals});
  }
  list.push_back({"cursors", heads * layout.cursor.bytes(),
                  heads * layout.cursor.bytes()});
  Traffic inputs{"inputs"}, outputs{"outputs"};
  if (const KernelEntry *step = image.find("step"))
    for (const KernelArg &arg : step->args) {
      if (arg.name != "state")
        (arg.writable ? outputs.written : inputs.read) +=
            double(arg.rowWidth) * elementBytes(arg.type);
    }
  list.push_back(inputs);
  list.push_back(outputs);
  return list;
}

Traffic decant::tool::totalOf(const std::vector<Traffic> &list) {
  Traffic total{"total"};
  for (const Traffic &traffic : list) {
    total.read += traffic.read;
    total.written += traffic.written;
  }
  return total;
}
