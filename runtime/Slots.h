//===- Slots.h - checks of pools and slot numbers ------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_SLOTS_H
#define DECANT_RUNTIME_SLOTS_H

#include "decant/Runtime/Program.h"

namespace decant {

/// Fills in the default stride of `pool` and checks base, stride and extent.
/// `prefix` names the pool in errors: "" or "from.".
Status resolvePool(const ProgramInfo &program, const char *prefix,
                   SlotPool &pool);
/// Every number names a slot of the resolved `pool`; `name` is the argument's.
Status checkHostSlots(const char *name, const int32_t *slots, int64_t count,
                      const SlotPool &pool);

inline char *slotAddress(const SlotPool &pool, int32_t slot) {
  return static_cast<char *>(pool.base) + int64_t(slot) * pool.strideBytes;
}

} // namespace decant

#endif // DECANT_RUNTIME_SLOTS_H
