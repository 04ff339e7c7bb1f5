//===- capi_pack.c - packs from C99 ---------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// capi_pack FOLDER
//
// FOLDER holds the packs of WriteImages.cpp, whose variants TestPack.h lists.
// The fake driver is one of compute capability 9.0.
//
//===----------------------------------------------------------------------===//

#include "Expect.h"

#include "decant-c/decant_pack.h"

static const char *inFolder(const char *folder, const char *name) {
  static char path[4096];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static void testNullHandles(void) {
  DecantPack *pack = NULL;
  DecantPackInfo info = DECANT_INIT(DecantPackInfo);
  DecantPackSpecInfo spec = DECANT_INIT(DecantPackSpecInfo);
  DecantPackVariantInfo variant = DECANT_INIT(DecantPackVariantInfo);
  DecantPackQuery query = DECANT_INIT(DecantPackQuery);
  DecantImage *image = NULL;
  DecantProgram *program = NULL;
  INVALID(decantPackOpen(NULL, &pack), "\"path\" is null");
  INVALID(decantPackOpen("x", NULL), "\"pack\" is null");
  INVALID(decantPackGetInfo(NULL, &info), "\"pack\" is null");
  INVALID(decantPackGetSpec(NULL, 0, &spec), "\"pack\" is null");
  INVALID(decantPackGetVariant(NULL, 0, &variant), "\"pack\" is null");
  INVALID(decantPackLoadImage(NULL, 0, &image), "\"pack\" is null");
  INVALID(decantPackLoadImage(NULL, 0, NULL), "\"image\" is null");
  INVALID(decantProgramCreateFromPack(NULL, NULL, &query, NULL, NULL),
          "\"program\" is null");
  INVALID(decantProgramCreateFromPack(NULL, NULL, &query, NULL, &program),
          "\"device\" is null");
  decantPackClose(NULL);
}

static void testDamage(const char *folder) {
  DecantPack *pack = NULL;
  DecantImage *image = NULL;
  INVALID(decantPackOpen(inFolder(folder, "none.pack"), &pack),
          "none.pack: cannot open");
  INVALID(decantPackOpen(inFolder(folder, "decode.decant"), &pack),
          "decode.decant: pack: bad magic");
  INVALID(decantPackOpen(inFolder(folder, "cut.pack"), &pack),
          "cut.pack: pack: truncated");
  EXPECT(pack == NULL);
  OK(decantPackOpen(inFolder(folder, "flipped.pack"), &pack));
  OK(decantPackLoadImage(pack, 0, &image));
  decantImageDestroy(image);
  INVALID(decantPackLoadImage(pack, 7, &image),
          "flipped.pack: variant 7 (other, 1 token per step, decode, ptx for "
          "sm_80): header: hash mismatch");
  EXPECT(image == NULL);
  decantPackClose(pack);
}

static void testContents(DecantPack *pack) {
  DecantPackInfo info = DECANT_INIT(DecantPackInfo);
  DecantPackSpecInfo spec = DECANT_INIT(DecantPackSpecInfo);
  DecantPackVariantInfo variant = DECANT_INIT(DecantPackVariantInfo);
  DecantImageInfo facts = DECANT_INIT(DecantImageInfo);
  DecantImage *image = NULL;
  OK(decantPackGetInfo(pack, &info));
  EXPECT(info.spec_count == 2 && info.variant_count == 8);
  EXPECT(info.file_bytes > 0 && info.images_read == 0 && info.bytes_read == 0);
  OK(decantPackGetSpec(pack, 1, &spec));
  EXPECT(strcmp(spec.name, "other") == 0 && spec.tokens_per_step == 1);
  INVALID(decantPackGetSpec(pack, 2, &spec), "\"index\" is 2; 0 to 1");
  OK(decantPackGetVariant(pack, 1, &variant));
  EXPECT(variant.spec == 0 && !variant.transfer);
  EXPECT(strcmp(variant.target, "sm_90a") == 0);
  EXPECT(strcmp(variant.kind, "ptx") == 0);
  EXPECT(strstr(variant.schedule, "key_lanes = 16") != NULL);
  EXPECT(variant.max_rows_count == 1 && variant.max_rows[0] == 64);
  OK(decantPackGetVariant(pack, 2, &variant));
  EXPECT(variant.max_rows_count == 1 && variant.max_rows[0] == INT64_MAX);
  OK(decantPackGetVariant(pack, 3, &variant));
  EXPECT(variant.transfer && variant.max_rows_count == 0);
  INVALID(decantPackGetVariant(pack, 8, &variant), "\"index\" is 8; 0 to 7");
  INVALID(decantPackGetVariant(pack, -1, &variant), "\"index\" is -1");
  INVALID(decantPackGetVariant(pack, 0, NULL), "\"info\" is null");
  variant.struct_size = 8;
  INVALID(decantPackGetVariant(pack, 0, &variant), "struct_size is 8");
  INVALID(decantPackLoadImage(pack, 8, &image), "found variant 8");
  OK(decantPackLoadImage(pack, 3, &image));
  OK(decantImageGetInfo(image, &facts));
  EXPECT(strcmp(facts.target, "sm_90a") == 0);
  decantImageDestroy(image);
  OK(decantPackGetInfo(pack, &info));
  EXPECT(info.images_read == 1 && info.bytes_read > 0);
  EXPECT(info.images_loaded == 0);
}

static void testPrograms(DecantPack *pack) {
  DecantDevice *device = NULL;
  DecantProgram *program = NULL;
  DecantProgramInfo info = DECANT_INIT(DecantProgramInfo);
  DecantPackQuery query = DECANT_INIT(DecantPackQuery);
  DecantPackReport report = DECANT_INIT(DecantPackReport);
  OK(decantDeviceOpenCuda(0, &device));
  INVALID(decantProgramCreateFromPack(device, NULL, &query, NULL, &program),
          "\"pack\" is null");
  INVALID(decantProgramCreateFromPack(device, pack, NULL, NULL, &program),
          "\"query\" is null");
  INVALID(decantProgramCreateFromPack(device, pack, &query, NULL, &program),
          "test.pack: the pack has more than one spec; it has \"layer\" with 1 "
          "token per step, \"other\"");
  query.spec = "lair";
  INVALID(decantProgramCreateFromPack(device, pack, &query, NULL, &program),
          "no spec \"lair\"");
  EXPECT(program == NULL);

  query.spec = "layer";
  OK(decantProgramCreateFromPack(device, pack, &query, &report, &program));
  OK(decantProgramQuery(program, &info));
  EXPECT(info.variant_count == 3 && info.can_transfer);
  EXPECT(strcmp(info.target, "sm_90a") == 0);
  EXPECT(strcmp(report.target, "sm_90a") == 0 && report.note == NULL);
  EXPECT(report.decode_count == 3 && report.bytes > 0);
  EXPECT(report.read_ms >= 0 && report.load_ms >= 0);
  decantProgramDestroy(program);

  query.max_rows = 8;
  query.decode_only = 1;
  OK(decantProgramCreateFromPack(device, pack, &query, NULL, &program));
  OK(decantProgramQuery(program, &info));
  EXPECT(info.variant_count == 1 && !info.can_transfer);
  decantProgramDestroy(program);

  query.max_rows = 0;
  query.decode_only = 0;
  query.spec = NULL;
  query.spec_text = "a spec"; /* of both, which are equal */
  OK(decantProgramCreateFromPack(device, pack, &query, NULL, &program));
  decantProgramDestroy(program);
  query.spec_text = "another spec";
  INVALID(decantProgramCreateFromPack(device, pack, &query, NULL, &program),
          "no spec of the same text");

  query.spec = "other";
  query.spec_text = NULL;
  OK(decantProgramCreateFromPack(device, pack, &query, &report, &program));
  EXPECT(strcmp(report.target, "sm_80") == 0);
  EXPECT(report.note != NULL && strstr(report.note, "sm_80 runs in its place"));
  OK(decantProgramQuery(program, &info));
  EXPECT(!info.can_transfer);
  decantProgramDestroy(program);
  report.struct_size = 4;
  INVALID(decantProgramCreateFromPack(device, pack, &query, &report, &program),
          "struct_size is 4");
  decantDeviceClose(device);
}

int main(int argc, char **argv) {
  DecantPack *pack = NULL;
  if (argc != 2)
    return 2;
  testNullHandles();
  testDamage(argv[1]);
  OK(decantPackOpen(inFolder(argv[1], "test.pack"), &pack));
  if (!pack)
    return 1;
  testContents(pack);
  testPrograms(pack);
  decantPackClose(pack);
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
