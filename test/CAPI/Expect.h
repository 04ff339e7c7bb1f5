//===- Expect.h - checks in C tests -------------------------------*- C -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_CAPI_EXPECT_H
#define DECANT_TEST_CAPI_EXPECT_H

#include "decant-c/decant_runtime.h"

#include <stdio.h>
#include <string.h>

static int checks, failures;

static void expect(int line, int ok, const char *what) {
  ++checks;
  if (!ok) {
    ++failures;
    printf("line %d: %s\n  last error: %s\n", line, what, decantLastError());
  }
}
#define EXPECT(condition) expect(__LINE__, condition, #condition)
/* The call fails with `code` and a text that has `part` in it. */
#define REFUSED(code, call, part)                                              \
  do {                                                                         \
    EXPECT((call) == (code));                                                  \
    EXPECT(strstr(decantLastError(), part) != NULL);                           \
  } while (0)
#define INVALID(call, part) REFUSED(DECANT_INVALID_INPUT, call, part)
#define OK(call) EXPECT((call) == DECANT_OK)

#endif /* DECANT_TEST_CAPI_EXPECT_H */
