//===- ImageFile.h - an image into a file of the caller's -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_CAPI_IMAGEFILE_H
#define DECANT_LIB_CAPI_IMAGEFILE_H

#include "decant/Core/KernelImage.h"

namespace decant {
namespace capi {

/// Writes `image` beside `path` and renames it into place, so that another
/// process never loads half of it. A link is followed; anything but a file is
/// refused, since a rename would replace it.
Status saveImage(const KernelImage &image, const std::string &path);

} // namespace capi
} // namespace decant

#endif // DECANT_LIB_CAPI_IMAGEFILE_H
