//===- Interrupt.cpp - Ctrl-C as a question -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"

#include <csignal>

using namespace decant::tool;

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

/// A handler can reach nothing but what is static.
volatile std::sig_atomic_t wasAsked = 0;

extern "C" void noteSignal(int number) {
  wasAsked = 1;
  std::signal(number, SIG_DFL);
}

} // namespace

Interrupt::Interrupt() {
  wasAsked = 0;
  for (int number : kSignals)
    std::signal(number, noteSignal);
}

Interrupt::~Interrupt() {
  for (int number : kSignals)
    std::signal(number, SIG_DFL);
}

bool Interrupt::asked() { return wasAsked != 0; }
