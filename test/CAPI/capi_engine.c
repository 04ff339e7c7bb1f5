//===- capi_engine.c - spec to numbers, by the C API alone ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// capi_engine FOLDER PACK
//
// A C99 host of libdecant: prepares a small gated delta layer for the CPU and
// compares 20 tokens of three rows with a loop in double. FOLDER is not there
// yet and becomes a kernel cache; PACK has kPackedLayer for the CPU.
//
//===----------------------------------------------------------------------===//

#include "SmallTokens.h"

#include "decant-c/decant.h"

static DecantSpec *readLayer(const char *const *overrides, size_t count) {
  DecantSpec *spec = NULL;
  OK(decantSpecReadText(kSmallLayer, NULL, overrides, count, &spec));
  return spec;
}

static void testEngineErrors(void) {
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantPrepareReport report = DECANT_INIT(DecantPrepareReport);
  DecantEngineCounters counters = DECANT_INIT(DecantEngineCounters);
  DecantEngine *engine = NULL;
  DecantDevice *device = NULL;
  DecantProgram *program = NULL;
  DecantSpec *spec = readLayer(NULL, 0);
  INVALID(decantEngineCreate(&options, NULL), "\"engine\" is null");
  options.cache_mode = 3;
  INVALID(decantEngineCreate(&options, &engine), "cache_mode\" is 3");
  options.cache_mode = DECANT_CACHE_OFF;
  options.cache_folder = "x";
  INVALID(decantEngineCreate(&options, &engine), "cache_folder\" is \"x\"");
  options.cache_folder = NULL;
  options.cache_layers = "y";
  INVALID(decantEngineCreate(&options, &engine), "cache_layers\" is \"y\"");
  options.cache_layers = NULL;
  options.cache_bytes = -2;
  INVALID(decantEngineCreate(&options, &engine), "cache_bytes\" is -2");
  options.cache_bytes = -1;
  options.variants = 4;
  INVALID(decantEngineCreate(&options, &engine), "variants\" is 4");
  options.variants = DECANT_VARIANTS_FIXED;
  options.tune = 3;
  INVALID(decantEngineCreate(&options, &engine), "tune\" is 3");
  options.tune = DECANT_TUNE_NEVER;
  options.packs = "/nowhere/layers.pack";
  INVALID(decantEngineCreate(&options, &engine),
          "/nowhere/layers.pack: cannot open");
  options.packs = NULL;
  options.threads = -1;
  INVALID(decantEngineCreate(&options, &engine), "threads");
  options.struct_size = 0;
  INVALID(decantEngineCreate(&options, &engine), "struct_size is 0");
  EXPECT(engine == NULL);

  OK(decantEngineCreate(NULL, &engine));
  INVALID(decantEngineOpenDevice(engine, "gpu", &device), "found \"gpu\"");
  INVALID(decantEngineOpenDevice(engine, "cuda:-1", &device), "cuda:-1");
  REFUSED(DECANT_UNAVAILABLE, decantEngineOpenDevice(engine, "cuda:0", &device),
          "no NVIDIA driver");
  INVALID(decantEngineOpenDevice(engine, NULL, &device), "\"name\" is null");
  INVALID(decantEngineOpenDevice(NULL, "cpu", &device), "\"engine\" is null");
  INVALID(decantEngineOpenDevice(engine, "cpu", NULL), "\"device\" is null");
  OK(decantEngineOpenDevice(engine, "cpu", &device));
  INVALID(decantEnginePrepare(NULL, spec, device, NULL, &program),
          "\"engine\" is null");
  INVALID(decantEnginePrepare(engine, NULL, device, NULL, &program),
          "\"spec\" is null");
  INVALID(decantEnginePrepare(engine, spec, NULL, NULL, &program),
          "\"device\" is null");
  INVALID(decantEnginePrepare(engine, spec, device, NULL, NULL),
          "\"program\" is null");
  report.struct_size = 8;
  INVALID(decantEnginePrepare(engine, spec, device, &report, &program),
          "struct_size is 8");
  EXPECT(program == NULL);
  INVALID(
      decantEnginePrepareForStream(engine, spec, NULL, NULL, NULL, &program),
      "\"device\" is null");
  INVALID(decantEngineGetCounters(NULL, &counters), "\"engine\" is null");
  INVALID(decantEngineGetCounters(engine, NULL), "\"counters\" is null");
  counters.struct_size = 16;
  INVALID(decantEngineGetCounters(engine, &counters), "struct_size is 16");
  /* A report of the first header: what it lacks is not written. */
  report.struct_size = offsetof(DecantPrepareReport, link_ms);
  report.link_ms = -1;
  OK(decantEnginePrepareForStream(engine, spec, device, NULL, &report,
                                  &program));
  EXPECT(report.total_ms > 0 && report.link_ms == -1);
  decantProgramDestroy(program);
  decantDeviceClose(device);
  decantEngineDestroy(engine);
  decantEngineDestroy(NULL);
  decantSpecDestroy(spec);
}

static DecantProgram *prepare(DecantEngine *engine, const DecantSpec *spec,
                              DecantPrepareReport *report) {
  DecantDevice *device = NULL;
  DecantDeviceInfo info = DECANT_INIT(DecantDeviceInfo);
  DecantProgram *program = NULL;
  OK(decantEngineOpenDevice(engine, "cpu", &device));
  OK(decantDeviceGetInfo(device, &info));
  EXPECT(!info.is_cuda);
  OK(decantEnginePrepare(engine, spec, device, report, &program));
  decantDeviceClose(device); /* the program keeps what it needs */
  return program;
}

/* Two engines share a folder and nothing else; programs outlive both. */
static void testEngines(const char *folder) {
  const char *const overrides[] = {"window.length=6"};
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantPrepareReport report = DECANT_INIT(DecantPrepareReport);
  DecantEngineCounters counters = DECANT_INIT(DecantEngineCounters);
  DecantEngine *first = NULL, *second = NULL;
  DecantProgram *plain, *windowed, *again;
  DecantSpec *spec = readLayer(NULL, 0), *longer = readLayer(overrides, 1);
  options.cache_folder = folder;
  options.threads = 2;
  OK(decantEngineCreate(&options, &first));
  OK(decantEngineCreate(&options, &second));

  OK(decantEngineGetCounters(first, &counters));
  EXPECT(counters.compiles + counters.loads + counters.misses == 0);
  plain = prepare(first, spec, &report);
  EXPECT(strcmp(report.target, "x86-64") == 0 && !report.target_note);
  EXPECT(report.link_ms == 0);
  EXPECT(!report.warm && report.compile_ms > 0 && report.load_ms > 0);
  EXPECT(report.miss_reason != NULL && report.warning == NULL);
  // Two images, compiled side by side: the total has the longer one.
  EXPECT(report.total_ms >= report.compile_ms / 2 + report.load_ms);
  printf("cold: %.0f ms, of which compiling %.0f (%s)\n", report.total_ms,
         report.compile_ms, report.miss_reason);
  windowed = prepare(second, longer, &report);
  EXPECT(!report.warm);
  again = prepare(second, spec, &report);
  EXPECT(report.warm && report.compile_ms == 0 && report.miss_reason == NULL);
  printf("warm: %.1f ms\n", report.total_ms);
  OK(decantEngineGetCounters(first, &counters));
  EXPECT(counters.compiles == 2 && counters.links == 0 && counters.loads == 1);
  EXPECT(counters.misses == 2 && counters.stores == 2);
  OK(decantEngineGetCounters(second, &counters));
  EXPECT(counters.compiles == 2 && counters.loads == 2);
  EXPECT(counters.disk_hits == 2 && counters.layer_hits == 0);
  decantEngineDestroy(first);
  decantEngineDestroy(second);
  decantSpecDestroy(spec);
  decantSpecDestroy(longer);

  printf("largest errors: %.2g %.2g %.2g\n", checkLayer(plain),
         checkLayer(windowed), checkLayer(again));
  decantProgramDestroy(plain);
  decantProgramDestroy(windowed);
  decantProgramDestroy(again);
}

/* What one engine has written is a layer for another, which writes nothing. */
static void testLayers(const char *folder) {
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantPrepareReport report = DECANT_INIT(DecantPrepareReport);
  DecantEngineCounters counters = DECANT_INIT(DecantEngineCounters);
  DecantEngine *engine = NULL;
  DecantSpec *spec = readLayer(NULL, 0);
  char layers[4096], own[4096];
  snprintf(layers, sizeof layers, "/nowhere:%s", folder);
  snprintf(own, sizeof own, "%s-own", folder);
  options.cache_folder = own;
  options.cache_layers = layers;
  options.cache_bytes = 1 << 20;
  OK(decantEngineCreate(&options, &engine));
  decantProgramDestroy(prepare(engine, spec, &report));
  EXPECT(report.warm);
  OK(decantEngineGetCounters(engine, &counters));
  EXPECT(counters.layer_hits == 2 && counters.compiles == 0);
  EXPECT(counters.stores == 0 && counters.loads == 1);
  decantEngineDestroy(engine);
  decantSpecDestroy(spec);
}

/* Kernels of a pack: nothing is compiled, and the cache is not asked. */
static void testPacks(const char *pack) {
  static const char *const kPackedLayer[] = {"heads.key=1", "heads.value=2"};
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantPrepareReport report = DECANT_INIT(DecantPrepareReport);
  DecantEngineCounters counters = DECANT_INIT(DecantEngineCounters);
  DecantEngine *engine = NULL;
  DecantSpec *spec = NULL, *other = readLayer(NULL, 0);
  DecantProgramInfo info = DECANT_INIT(DecantProgramInfo);
  DecantProgram *program;
  char list[4096], from[4096];
  OK(decantSpecReadFile("bytelm-gdn", kPackedLayer, 2, &spec));
  snprintf(list, sizeof list, ":%s", pack);
  snprintf(from, sizeof from, "pack, %s", pack);
  options.cache_mode = DECANT_CACHE_MEMORY;
  options.packs = list;
  OK(decantEngineCreate(&options, &engine));
  program = prepare(engine, spec, &report);
  EXPECT(report.warm && report.compile_ms == 0 && !report.tuned);
  EXPECT(report.pack && strcmp(report.pack, pack) == 0);
  EXPECT(report.schedules_from && strcmp(report.schedules_from, from) == 0);
  OK(decantProgramQuery(program, &info));
  EXPECT(info.heads == 2 && info.can_transfer);
  decantProgramDestroy(program);
  OK(decantEngineGetCounters(engine, &counters));
  EXPECT(counters.packed == 2 && counters.compiles == 0);
  EXPECT(counters.misses == 0 && counters.tunings == 0 && counters.loads == 1);
  /* What the pack has not is compiled. */
  decantProgramDestroy(prepare(engine, other, &report));
  EXPECT(!report.warm && !report.pack && !report.schedules_from);
  OK(decantEngineGetCounters(engine, &counters));
  EXPECT(counters.packed == 2 && counters.compiles == 2);
  /* Counters of the first header. */
  counters.struct_size = offsetof(DecantEngineCounters, packed);
  counters.packed = -1;
  OK(decantEngineGetCounters(engine, &counters));
  EXPECT(counters.packed == -1 && counters.compiles == 2);
  decantEngineDestroy(engine);
  decantSpecDestroy(spec);
  decantSpecDestroy(other);
}

/* A cache that cannot be kept on disk costs a warning, once, and no more. */
static void testUnusableCache(const char *file) {
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantPrepareReport report = DECANT_INIT(DecantPrepareReport);
  DecantEngine *engine = NULL;
  DecantSpec *spec = readLayer(NULL, 0);
  options.cache_folder = file;
  OK(decantEngineCreate(&options, &engine));
  decantProgramDestroy(prepare(engine, spec, &report));
  EXPECT(!report.warm);
  EXPECT(report.warning && strstr(report.warning, options.cache_folder));
  decantProgramDestroy(prepare(engine, spec, &report));
  EXPECT(report.warm && report.warning == NULL);
  decantEngineDestroy(engine);
  decantSpecDestroy(spec);
}

/* An image needs the engine for its device alone. */
static void testImages(void) {
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantCompileOptions compile = DECANT_INIT(DecantCompileOptions);
  DecantEngine *engine = NULL;
  DecantDevice *device = NULL;
  DecantImage *host = NULL, *gpu = NULL;
  DecantProgram *program = NULL;
  DecantSpec *spec = readLayer(NULL, 0);
  compile.target = "x86-64";
  OK(decantCompile(spec, &compile, &host));
  compile.target = "sm_80";
  OK(decantCompile(spec, &compile, &gpu));
  decantSpecDestroy(spec);
  options.cache_mode = DECANT_CACHE_MEMORY;
  OK(decantEngineCreate(&options, &engine));
  OK(decantEngineOpenDevice(engine, "cpu", &device));
  INVALID(decantProgramCreate(device, gpu, NULL, &program), "host_object");
  OK(decantProgramCreate(device, host, NULL, &program));
  decantImageDestroy(host);
  decantImageDestroy(gpu);
  decantDeviceClose(device);
  decantEngineDestroy(engine);
  checkLayer(program);
  decantProgramDestroy(program);
}

static void testTokens(void) {
  const char *const overrides[] = {"window.length=6", "tokens_per_step=3"};
  DecantEngineOptions options = DECANT_INIT(DecantEngineOptions);
  DecantPrepareReport report = DECANT_INIT(DecantPrepareReport);
  DecantEngine *engine = NULL;
  DecantSpec *spec = readLayer(overrides, 2);
  DecantProgram *program;
  options.cache_mode = DECANT_CACHE_MEMORY;
  OK(decantEngineCreate(&options, &engine));
  program = prepare(engine, spec, &report);
  checkTokens(program);
  decantProgramDestroy(program);
  decantEngineDestroy(engine);
  decantSpecDestroy(spec);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  testEngineErrors();
  testEngines(argv[1]);
  testLayers(argv[1]);
  testPacks(argv[2]);
  testUnusableCache(argv[0]); /* a file where a folder is wanted */
  testImages();
  testTokens();
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}
