//===- ImageHeader.h - an image without its code ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For files that keep header and code apart, as a pack does: images that differ
// in a name alone then share their code.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_IMAGEHEADER_H
#define DECANT_CORE_IMAGEHEADER_H

#include "decant/Core/KernelImage.h"

namespace decant {

/// Everything but the code, as JSON; the header of an image file.
std::string imageHeader(const KernelImage &image);
Expected<KernelImage> imageFromHeader(const std::string &header,
                                      std::string code);

} // namespace decant

#endif // DECANT_CORE_IMAGEHEADER_H
