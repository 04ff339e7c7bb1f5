//===- main.c - a program outside of Decant -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// use_decant IMAGE: what the runtime says of the file IMAGE.
//
//===----------------------------------------------------------------------===//

#include <decant-c/decant_runtime.h>
#include <stdio.h>

int main(int argc, char **argv) {
  DecantImage *image = NULL;
  DecantImageInfo info = DECANT_INIT(DecantImageInfo);
  DecantStatus status =
      decantImageLoadFile(argc > 1 ? argv[1] : "none.decant", &image);
  if (status == DECANT_OK)
    status = decantImageGetInfo(image, &info);
  printf("decant runtime %u: %s: %s\n", decantRuntimeVersion(),
         decantStatusName(status),
         status == DECANT_OK ? info.spec_name : decantLastError());
  decantImageDestroy(image);
  return status != (argc > 1 ? DECANT_OK : DECANT_INVALID_INPUT);
}
