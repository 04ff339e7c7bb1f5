//===- NumberList.h - numbers on the command line ---------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_NUMBERLIST_H
#define DECANT_TOOLS_NUMBERLIST_H

#include "decant/Core/Status.h"

#include <cstdint>
#include <vector>

namespace decant::tool {

/// The numbers of "1,8,64", each from 1 to `most`; `option` is the one that
/// they were given to, for messages.
Expected<std::vector<int64_t>> parseNumberList(const std::string &option,
                                               const std::string &text,
                                               int64_t most);

} // namespace decant::tool

#endif // DECANT_TOOLS_NUMBERLIST_H
