//===- Interrupt.h - Ctrl-C as a question -----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_INTERRUPT_H
#define DECANT_TOOLS_INTERRUPT_H

namespace decant::tool {

/// While it lives, the first SIGINT or SIGTERM only answers asked() with true;
/// a second one ends the process as ever.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  static bool asked();
};

} // namespace decant::tool

#endif // DECANT_TOOLS_INTERRUPT_H
