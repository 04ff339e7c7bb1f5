//===- Convert.h - from validated JSON to a DecodeSpec ----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: JSON that the table accepts. Out: the same in DecodeSpec's types; names
// such as rsqrt_key_dim and auto become values here.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_CONVERT_H
#define DECANT_LIB_SPEC_CONVERT_H

#include "decant/Core/DecodeSpec.h"

#include "JsonText.h"

namespace decant::spec {

/// The spec that `document` describes, but for its name and its rule's text.
/// `document` has passed validate() and holds every default.
DecodeSpec convert(const Json &document);

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_CONVERT_H
