//===- HostImages.h - small images for the CPU device --------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer of the least possible kernels, compiled from hand-written IR of stage
// mapped, so that device and engine are tested without the middle end.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_ENGINE_HOSTIMAGES_H
#define DECANT_TEST_UNIT_ENGINE_HOSTIMAGES_H

#include "decant/Core/KernelImage.h"

namespace decant::test {

/// A spec that check() accepts.
DecodeSpec smallSpec();

/// step: out[row] = 3 decay[row] + slot(row).
Expected<KernelImage> decodeImage(const DecodeSpec &spec,
                                  const std::string &arch = "native");
/// The four transfer entries; they do nothing.
Expected<KernelImage> transferImage(const DecodeSpec &spec);

} // namespace decant::test

#endif // DECANT_TEST_UNIT_ENGINE_HOSTIMAGES_H
