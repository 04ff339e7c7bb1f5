//===- FatalErrors.h - LLVM's fatal errors as a Status -------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's code generator ends the process when it meets something that the
// target does not have ("Cannot select"). A compiler inside someone's server
// may not.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TARGET_FATALERRORS_H
#define DECANT_TARGET_FATALERRORS_H

#include "decant/Core/Status.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace decant {

/// Runs `body` and returns its Status, or LLVM's message if it ended in a fatal
/// error of LLVM's. What `body` was working on is then half done: it must not
/// be used or destroyed. Other threads may do the same at once.
Status recoverFatalErrors(llvm::function_ref<Status()> body);

} // namespace decant

#endif // DECANT_TARGET_FATALERRORS_H
