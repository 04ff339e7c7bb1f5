//===- SlotPicture.h - a slot's bytes and a tile's lanes, drawn -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_SLOTPICTURE_H
#define DECANT_TOOLS_SLOTPICTURE_H

#include "Command.h"
#include "decant/Core/Schedule.h"

namespace decant::tool {

/// A table of the slot and one of a head's regions, each with a bar as long as
/// its share of the bytes.
std::string drawSlot(const SlotLayout &layout);
Json slotToJson(const SlotLayout &layout);

/// Which thread holds which part of the state.
std::string drawLanes(const Schedule &schedule);

} // namespace decant::tool

#endif // DECANT_TOOLS_SLOTPICTURE_H
