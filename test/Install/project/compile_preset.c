//===- compile_preset.c - a program outside that compiles -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// compile_preset IMAGE: a preset for sm_90a, into the file IMAGE.
//
//===----------------------------------------------------------------------===//

#include <decant-c/decant.h>
#include <stdio.h>

int main(int argc, char **argv) {
  DecantCompileOptions options = DECANT_INIT(DecantCompileOptions);
  DecantImageInfo info = DECANT_INIT(DecantImageInfo);
  DecantSpec *spec = NULL;
  DecantImage *image = NULL;
  options.target = "sm_90a";
  if (argc != 2 ||
      decantSpecReadFile("bytelm-gdn", NULL, 0, &spec) != DECANT_OK ||
      decantCompile(spec, &options, &image) != DECANT_OK ||
      decantImageSaveFile(image, argv[1]) != DECANT_OK ||
      decantImageGetInfo(image, &info) != DECANT_OK) {
    fprintf(stderr, "%s\n", decantLastError());
    return 1;
  }
  printf("%s: %s of %s for %s\n", info.compiler, info.kind, info.spec_name,
         info.target);
  decantImageDestroy(image);
  decantSpecDestroy(spec);
  return 0;
}
