//===- main.c - a program outside of Decant -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <decant-c/decant_runtime.h>
#include <stdio.h>

int main(void) {
  DecantImage *image = NULL;
  DecantStatus status = decantImageLoadFile("none.decant", &image);
  printf("decant runtime %u: %s: %s\n", decantRuntimeVersion(),
         decantStatusName(status), decantLastError());
  return status != DECANT_INVALID_INPUT;
}
