//===- SameSlots.h - may two images share slots --------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_SAMESLOTS_H
#define DECANT_RUNTIME_SAMESLOTS_H

#include "decant/Core/KernelImage.h"

namespace decant {

/// Two images may touch the same slots only when every byte means the same.
/// `otherIs` is what the message calls `other`: "transfer image".
Status checkSameSlots(const KernelImage &decode, const KernelImage &other,
                      const std::string &otherIs);

/// Two decode images may stand for each other only when they also compute the
/// same from the same arguments; how their lanes share the work may differ.
Status checkSameStep(const KernelImage &decode, const KernelImage &other,
                     const std::string &otherIs);

} // namespace decant

#endif // DECANT_RUNTIME_SAMESLOTS_H
