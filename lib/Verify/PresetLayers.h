//===- PresetLayers.h - a layer for every preset ------------------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_PRESETLAYERS_H
#define DECANT_LIB_VERIFY_PRESETLAYERS_H

#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

namespace decant {

/// Specs that, together, use every preset of a kind: models as they are;
/// methods in a layer of bytelm, without the plans that belong to one layer;
/// rules in that layer with an f32 state and in windows over int8 codes.
std::vector<SpecSource> presetLayers(PresetKind kind);

} // namespace decant

#endif // DECANT_LIB_VERIFY_PRESETLAYERS_H
