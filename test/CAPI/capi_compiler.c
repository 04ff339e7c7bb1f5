//===- capi_compiler.c - presets, specs and images in C -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// capi_compiler FOLDER
//
// A C99 host of libdecant, up to the images, which it writes into FOLDER.
//
//===----------------------------------------------------------------------===//

#include "Expect.h"
#include "SmallSpec.h"

#include "decant-c/decant.h"

static const char *inFolder(const char *folder, const char *name) {
  static char path[2][4096];
  static int turn;
  turn = !turn;
  snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
  return path[turn];
}

static DecantSpec *readSmallLayer(void) {
  DecantSpec *spec = NULL;
  OK(decantSpecReadText(kSmallLayer, NULL, NULL, 0, &spec));
  return spec;
}

static void testPresets(void) {
  DecantPresetInfo info = DECANT_INIT(DecantPresetInfo);
  DecantSpec *spec = NULL;
  int32_t count = 0, i, rules = 0, models = 0;
  OK(decantPresetGetCount(&count));
  for (i = 0; i < count; ++i) {
    OK(decantPresetGet(i, &info));
    EXPECT(info.name[0] && info.text[0]);
    rules += info.kind == DECANT_PRESET_RULE &&
             strcmp(info.name, "gated_delta") == 0 &&
             strstr(info.text, "decant.rule @gated_delta") != NULL;
    if (info.kind == DECANT_PRESET_MODEL) {
      ++models;
      EXPECT(info.description[0]);
      OK(decantSpecReadFile(info.name, NULL, 0, &spec));
      decantSpecDestroy(spec);
    }
  }
  EXPECT(rules == 1 && models > 0);
  INVALID(decantPresetGet(count, &info), "\"index\" is");
  INVALID(decantPresetGet(-1, &info), "\"index\" is -1");
  INVALID(decantPresetGet(0, NULL), "\"info\" is null");
  info.struct_size = 4;
  INVALID(decantPresetGet(0, &info), "struct_size is 4");
  INVALID(decantPresetGetCount(NULL), "\"count\" is null");
}

static void testSpecs(void) {
  const char *window = "window.length=4";
  const char *const named[] = {"window.length=4", "name=another"};
  const char *const wrong[] = {"window.length=4", "window.lenght=4"};
  const char *const none[] = {"window.length=4", NULL};
  DecantSpec *spec = NULL, *again = NULL;
  char *text = NULL, *other = NULL;
  OK(decantSpecReadText(kSmallLayer, NULL, &window, 1, &spec));
  OK(decantSpecToJson(spec, &text));
  EXPECT(strstr(text, "decant.rule @gated_delta") != NULL);
  OK(decantSpecReadText(text, NULL, NULL, 0, &again));
  OK(decantSpecToJson(again, &other));
  EXPECT(strcmp(text, other) == 0);
  decantSpecDestroy(again);
  decantTextDestroy(text);
  decantTextDestroy(other);
  OK(decantSpecReadText(kSmallLayer, NULL, named, 2, &again));
  OK(decantSpecToKey(spec, &text));
  OK(decantSpecToKey(again, &other));
  EXPECT(strcmp(text, other) == 0);
  EXPECT(strstr(text, "window.length = 4\n") != NULL);
  decantSpecDestroy(again);
  decantSpecDestroy(spec);
  decantTextDestroy(text);
  decantTextDestroy(other);

  spec = (DecantSpec *)&wrong;
  INVALID(decantSpecReadText("{\"decant\": 1,", NULL, NULL, 0, &spec), "spec");
  EXPECT(spec == NULL);
  INVALID(decantSpecReadText("{\"decant\": 1, \"name\": \"x\"}", NULL, NULL, 0,
                             &spec),
          "rule");
  INVALID(decantSpecReadText(kSmallLayer, NULL, wrong, 2, &spec), "lenght");
  INVALID(decantSpecReadText(kSmallLayer, NULL, none, 2, &spec),
          "\"overrides[1]\" is null");
  INVALID(decantSpecReadText(kSmallLayer, NULL, NULL, 1, &spec),
          "\"overrides\" is null");
  INVALID(decantSpecReadText(NULL, NULL, NULL, 0, &spec), "\"text\" is null");
  INVALID(decantSpecReadText(kSmallLayer, NULL, NULL, 0, NULL),
          "\"result\" is null");
  INVALID(decantSpecReadFile("no-such-model", NULL, 0, &spec), "no-such-model");
  INVALID(decantSpecReadFile("./no-such-file.json", NULL, 0, &spec),
          "no-such-file.json");
  INVALID(decantSpecReadFile(NULL, NULL, 0, &spec), "\"spec\" is null");
  INVALID(decantSpecReadFile("x", NULL, 0, NULL), "\"result\" is null");
  INVALID(decantSpecToJson(NULL, &text), "\"spec\" is null");
  INVALID(decantSpecToJson(NULL, NULL), "\"text\" is null");
  INVALID(decantSpecToKey(NULL, &text), "\"spec\" is null");
  decantSpecDestroy(NULL);
  decantTextDestroy(NULL);
}

/* Compiles for `target`, saves, loads again and compares what the file says. */
static void saveAndLoad(const char *folder, const DecantSpec *spec,
                        const char *target, const char *kind, int32_t isa) {
  DecantCompileOptions options = DECANT_INIT(DecantCompileOptions);
  DecantImageInfo before = DECANT_INIT(DecantImageInfo);
  DecantImageInfo after = DECANT_INIT(DecantImageInfo);
  DecantImage *image = NULL, *loaded = NULL;
  const char *path = inFolder(folder, target);
  options.target = target;
  OK(decantCompile(spec, &options, &image));
  OK(decantImageGetInfo(image, &before));
  OK(decantImageSaveFile(image, path));
  OK(decantImageSaveFile(image, path)); /* over a file that exists */
  OK(decantImageLoadFile(path, &loaded));
  OK(decantImageGetInfo(loaded, &after));
  EXPECT(strcmp(after.spec_name, "small") == 0);
  EXPECT(strcmp(after.target, target) == 0);
  EXPECT(strcmp(after.kind, kind) == 0);
  EXPECT(strcmp(after.compiler, decantVersion()) == 0);
  EXPECT(after.ptx_isa == isa);
  EXPECT(after.code_bytes > 0 && after.code_bytes == before.code_bytes);
  EXPECT(after.slot_bytes == before.slot_bytes);
  decantImageDestroy(loaded);
  INVALID(decantImageSaveFile(image, folder), "is not a file");
  REFUSED(DECANT_JOB_FAILED,
          decantImageSaveFile(image, inFolder(folder, "none/x.decant")),
          "none/x.decant");
  INVALID(decantImageSaveFile(image, NULL), "\"path\" is null");
  INVALID(decantImageSaveFile(NULL, path), "\"image\" is null");
  decantImageDestroy(image);
}

static void testCompile(const char *folder) {
  DecantCompileOptions options = DECANT_INIT(DecantCompileOptions);
  DecantSpec *spec = readSmallLayer();
  DecantImage *image = NULL;
  char *text = NULL;
  saveAndLoad(folder, spec, "sm_90a", "ptx", 80);
  saveAndLoad(folder, spec, "x86-64", "host_object", 0);

  INVALID(decantCompile(spec, &options, &image), "\"options.target\" is null");
  options.target = "sm_91";
  INVALID(decantCompile(spec, &options, &image), "sm_91");
  options.target = "sm_90a";
  options.kernels = 2;
  INVALID(decantCompile(spec, &options, &image), "\"options.kernels\" is 2");
  options.kernels = DECANT_KERNELS_TRANSFER;
  options.schedule = "strategy = fast";
  INVALID(decantCompile(spec, &options, &image), "fast");
  options.schedule = NULL;
  OK(decantCompile(spec, &options, &image));
  decantImageDestroy(image);
  options.struct_size = 1;
  INVALID(decantCompile(spec, &options, &image), "struct_size is 1");
  options.struct_size = sizeof(options) + 8;
  INVALID(decantCompile(spec, &options, &image), "newer header");
  options.struct_size = sizeof(options);
  INVALID(decantCompile(spec, NULL, &image), "\"options\" is null");
  INVALID(decantCompile(NULL, &options, &image), "\"spec\" is null");
  INVALID(decantCompile(spec, &options, NULL), "\"image\" is null");

  options.kernels = DECANT_KERNELS_DECODE;
  OK(decantEmit(spec, &options, "image", &text));
  EXPECT(strstr(text, ".target sm_90a") != NULL);
  decantTextDestroy(text);
  OK(decantEmit(spec, &options, "windowed", &text));
  EXPECT(strstr(text, "decant.") != NULL);
  decantTextDestroy(text);
  INVALID(decantEmit(spec, &options, "ptx", &text), "\"stage\" is \"ptx\"");
  EXPECT(text == NULL);
  INVALID(decantEmit(spec, &options, NULL, &text), "\"stage\" is null");
  INVALID(decantEmit(NULL, &options, "rule", &text), "\"spec\" is null");
  INVALID(decantEmit(spec, &options, "rule", NULL), "\"text\" is null");
  decantSpecDestroy(spec);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  EXPECT(decantRuntimeVersion() == DECANT_RUNTIME_VERSION);
  EXPECT(strstr(decantVersion(), "LLVM 22") != NULL);
  testPresets();
  testSpecs();
  testCompile(argv[1]);
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
