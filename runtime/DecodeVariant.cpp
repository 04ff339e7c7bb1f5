//===- DecodeVariant.cpp - one cut of a layer's decode kernels ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodeVariant.h"

#include "decant/Core/Schedule.h"

#include <algorithm>

using namespace decant;

Expected<std::unique_ptr<DecodeVariant>>
DecodeVariant::create(Device &device, KernelImage decode,
                      const LoadOptions &options) {
  auto variant = std::make_unique<DecodeVariant>();
  const SlotLayout &layout = decode.layout;
  const bool windows = layout.window > 1, drafts = layout.tokensPerStep > 1;
  const Expected<Schedule> schedule = parseSchedule(decode.scheduleText);
  variant->tensorCores = schedule && schedule->strategy == Strategy::Mma;
  variant->stepFolds = schedule && schedule->boundary == Boundary::Step;
  DECANT_ASSIGN(variant->loaded, device.load(std::move(decode), options));

  variant->maxRows = kMaxGridBlocks;
  auto makeTable = [&](const char *role,
                       std::unique_ptr<ArgTable> &table) -> Status {
    DECANT_ASSIGN(table, ArgTable::create(*variant->loaded, role));
    variant->slotAlign =
        std::max<int64_t>(variant->slotAlign, table->stateAlign());
    variant->maxRows = std::min(variant->maxRows, table->maxRows());
    return {};
  };
  DECANT_TRY(makeTable("step", variant->step));
  if (windows)
    DECANT_TRY(makeTable("commit", variant->commit));
  if (drafts)
    DECANT_TRY(makeTable("accept", variant->accept));
  return Expected<std::unique_ptr<DecodeVariant>>(std::move(variant));
}

Status DecodeVariant::gatherStep(const CallValues &values, ArgValue *stepArgs,
                                 ArgValue *commitArgs) const {
  DECANT_TRY(step->gather(values, stepArgs));
  DECANT_TRY(step->checkAllTaken(values));
  return commit ? commit->gather(values, commitArgs) : Status();
}

Status DecodeVariant::launchStep(int64_t rows, const ArgValue *stepArgs,
                                 const ArgValue *commitArgs,
                                 StreamHandle stream) const {
  // Drafts are not folded, so room for them is made before.
  const bool folds = commit && !stepFolds;
  const bool before = folds && image().layout.tokensPerStep > 1;
  if (before)
    DECANT_TRY(commit->launch(rows, commitArgs, stream));
  DECANT_TRY(step->launch(rows, stepArgs, stream));
  if (folds && !before)
    return commit->launch(rows, commitArgs, stream);
  return {};
}
