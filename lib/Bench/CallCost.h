//===- CallCost.h - what a launch costs the host --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_CALLCOST_H
#define DECANT_LIB_BENCH_CALLCOST_H

#include "WorkingSet.h"
#include "decant/Core/DecodeSpec.h"
#include "decant/Runtime/Program.h"

namespace decant::bench {

/// Microseconds that the host spends in one decantProgramStep(), nothing waited
/// for. Takes the program into a C handle for that time.
Expected<Spread> measureStepCall(const DecodeSpec &spec,
                                 std::shared_ptr<Device> device,
                                 std::unique_ptr<Program> &program);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_CALLCOST_H
