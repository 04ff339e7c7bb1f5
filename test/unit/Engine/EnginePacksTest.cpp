//===- EnginePacksTest.cpp - what an engine takes from packs --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A record before a pack, a pack before the cache, the cache before the
// compiler. Kernels are hand-written ones that differ by the schedules that
// they name; the compiler is a function that notes what it is asked for.
//
//===----------------------------------------------------------------------===//

#include "../Runtime/FakeCudaTest.h"
#include "../Runtime/TestPack.h"
#include "HostImages.h"
#include "decant/Engine.h"
#include "decant/Runtime/Pack.h"

#include <fstream>
#include <mutex>

using namespace decant;
using namespace decant::test;
namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

std::string scheduleText(RowLoop rows) {
  Schedule schedule;
  schedule.keysPerLane = schedule.valuesPerLane = 16;
  schedule.rows = rows;
  return toString(schedule);
}
const std::string kFew = scheduleText(RowLoop::Rolled);
const std::string kMany = scheduleText(RowLoop::Unrolled);

class EnginePacks : public testing::Test {
protected:
  static KernelImage cut(const std::string &schedule,
                         const DecodeSpec &spec = smallSpec()) {
    KernelImage image = decodeImage(spec).take();
    image.scheduleText = schedule;
    return image;
  }
  /// kFew up to two rows, kMany beyond, and transfers.
  std::string packOfBoth(const std::string &name = "both.pack") const {
    PackBuilder pack;
    require(pack.add(cut(kFew), {2}));
    require(pack.add(cut(kMany), {kAnyRows}));
    require(pack.add(transferImage(smallSpec()).take()));
    return folder.write(name, pack.bytes().take());
  }
  void writeRecord(const Device &device, const std::string &schedule,
                   const std::string &compiler = compilerVersion()) {
    TuningRecord record;
    record.key = tuningKey(smallSpec(), deviceClassOf(device, "x86-64").take(),
                           compiler);
    record.schedule = schedule;
    TunedRange range;
    range.schedule = range.against = schedule;
    record.ranges = {range};
    fs::create_directories(records());
    std::ofstream(records() + "/a.json") << toJson(TuningFile{{record}, {}});
  }
  std::string records() const {
    return fs::path(folder.write("mark", "")).parent_path().string() +
           "/records";
  }

  Expected<Engine> make(const Texts &packs,
                        VariantChoice variants = VariantChoice::ByBatch) {
    EngineOptions options;
    options.packs = packs;
    options.variants = variants;
    options.records = {records(), "", false};
    options.threads = 1;
    return Engine::create(
        options,
        [this](const DecodeSpec &spec, const CompileOptions &with,
               CompileTimes *) -> Expected<KernelImage> {
          std::lock_guard<std::mutex> guard(mutex);
          if (with.kernels == KernelSet::Transfer) {
            asked.push_back("transfer");
            return transferImage(spec);
          }
          asked.push_back(with.schedule ? toString(*with.schedule) : "usual");
          return cut(asked.back(), spec);
        });
  }
  std::unique_ptr<Program> prepare(Engine &engine,
                                   const DecodeSpec &spec = smallSpec()) {
    auto program = engine.prepare(spec, *engine.openDevice("cpu"), &report);
    EXPECT_TRUE(program.ok()) << program.status().message();
    return program.take();
  }

  TemporaryFolder folder;
  std::mutex mutex;
  Texts asked;
  PrepareReport report;
};

TEST_F(EnginePacks, ComeBeforeCacheAndCompiler) {
  const std::string path = packOfBoth();
  Engine engine = make({path}).take();
  const auto program = prepare(engine);
  EXPECT_EQ(asked, Texts());
  EXPECT_EQ(toString(program->rules()), "1..2: 0, 3..: 1");
  EXPECT_EQ(program->variant(0).scheduleText, kFew);
  EXPECT_TRUE(program->info().canTransfer);
  EXPECT_EQ(report.tuning.source, "pack, " + path);
  EXPECT_EQ(report.tuning.schedules, (Texts{kFew, kMany}));
  ASSERT_EQ(report.images.size(), 3u);
  for (const ImageReport &image : report.images)
    EXPECT_EQ(image.pack, path);
  EXPECT_TRUE(report.warm());
  const EngineCounters counters = engine.counters();
  EXPECT_EQ(counters.packed, 3);
  EXPECT_EQ(counters.compiles, 0);
  EXPECT_EQ(counters.tunings, 0);
  EXPECT_EQ(counters.loads, 1);
  EXPECT_EQ(counters.cache.misses, 0) << "the cache is not even asked";
}

TEST_F(EnginePacks, TheFirstOneThatHasTheSpec) {
  PackBuilder other;
  DecodeSpec spec = smallSpec();
  spec.rule = {"other", "another rule"};
  require(other.add(decodeImage(spec).take(), {kAnyRows}));
  const std::string first = folder.write("other.pack", other.bytes().take());
  const std::string second = packOfBoth("second.pack");
  Engine engine = make({first, second, packOfBoth("third.pack")}).take();
  prepare(engine);
  EXPECT_EQ(report.tuning.source, "pack, " + second);
  EXPECT_EQ(report.tuning.notes, Texts()) << "other specs are no news";
}

TEST_F(EnginePacks, OfOtherSpecsLeaveItToTheCompiler) {
  Engine engine = make({packOfBoth()}).take();
  DecodeSpec spec = smallSpec();
  spec.rule = {"other", "another rule"};
  prepare(engine, spec);
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (Texts{"transfer", "usual"}));
  EXPECT_EQ(engine.counters().packed, 0);
  EXPECT_EQ(report.tuning.source, "");
}

TEST_F(EnginePacks, ARecordDecidesAndThePackHasTheImage) {
  const std::string path = packOfBoth();
  Engine engine = make({path}).take();
  writeRecord(**engine.openDevice("cpu"), kFew);
  const auto program = prepare(engine);
  EXPECT_EQ(asked, Texts());
  EXPECT_EQ(program->variantCount(), 1);
  EXPECT_EQ(program->variant(0).scheduleText, kFew);
  EXPECT_EQ(report.tuning.source, "user, " + records() + "/a.json");
  EXPECT_EQ(report.images[0].pack, path);
  EXPECT_EQ(engine.counters().packed, 2);
}

TEST_F(EnginePacks, WhatARecordWantsAndThePackHasNotIsCompiled) {
  PackBuilder pack;
  require(pack.add(cut(kMany), {kAnyRows}));
  const std::string path = folder.write("many.pack", pack.bytes().take());
  Engine engine = make({path}).take();
  writeRecord(**engine.openDevice("cpu"), kFew);
  const auto program = prepare(engine);
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (Texts{kFew, "transfer"}));
  EXPECT_EQ(program->variant(0).scheduleText, kFew);
  EXPECT_EQ(engine.counters().packed, 0);
  EXPECT_EQ(engine.counters().compiles, 2);
}

// As built-in records are, which must not make a host compile that has a pack.
TEST_F(EnginePacks, ARecordOfAnotherBuildChoosesAmongWhatThePackHas) {
  PackBuilder pack;
  require(pack.add(cut(kMany), {kAnyRows}));
  require(pack.add(transferImage(smallSpec()).take()));
  const std::string many = folder.write("many.pack", pack.bytes().take());
  Engine without = make({many}).take();
  writeRecord(**without.openDevice("cpu"), kFew, "decant of last year");
  prepare(without);
  EXPECT_EQ(asked, Texts());
  EXPECT_EQ(report.tuning.source, "pack, " + many);
  ASSERT_EQ(report.tuning.notes.size(), 2u);
  EXPECT_EQ(report.tuning.notes[0].find("compiler decant of last year in the "
                                        "record, "),
            0u);
  EXPECT_EQ(report.tuning.notes[1],
            "user, " + records() +
                "/a.json is of another build, and its schedules are in no "
                "pack");

  Engine with = make({packOfBoth()}).take();
  const auto program = prepare(with);
  EXPECT_EQ(asked, Texts());
  EXPECT_TRUE(report.tuning.found);
  EXPECT_EQ(program->variantCount(), 1);
  EXPECT_EQ(program->variant(0).scheduleText, kFew);

  Engine alone = make({}).take();
  prepare(alone);
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (Texts{kFew, "transfer"})) << "it still serves";
}

TEST_F(EnginePacks, OneVariantForAllSizesIsTheOneForAnyNumberOfRows) {
  for (VariantChoice choice : {VariantChoice::One, VariantChoice::Fixed}) {
    Engine engine = make({packOfBoth()}, choice).take();
    const auto program = prepare(engine);
    EXPECT_EQ(program->variantCount(), 1);
    EXPECT_EQ(program->variant(0).scheduleText, kMany);
    EXPECT_EQ(engine.counters().packed, 2);
  }
  EXPECT_EQ(asked, Texts());
}

TEST_F(EnginePacks, WhatIsDamagedIsNamedAndCompiled) {
  const std::string path = packOfBoth();
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  // The last blob is the transfers' code.
  bytes.back() ^= 1;
  folder.write("both.pack", bytes);
  Engine engine = make({path}).take();
  const auto program = prepare(engine);
  EXPECT_EQ(asked, Texts{"transfer"});
  EXPECT_EQ(program->variantCount(), 2);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find(path + ": "), std::string::npos);
  EXPECT_NE(report.warnings[0].find("hash mismatch"), std::string::npos)
      << report.warnings[0];
}

TEST_F(EnginePacks, DecodeKernelsThatAreDamagedGiveWayToTheUsualOnes) {
  const std::string path = packOfBoth();
  const int64_t offset = Pack::open(path).take()->index().blobs[0].offset;
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(offset);
  file.put('?');
  file.close();
  Engine engine = make({path}).take();
  const auto program = prepare(engine);
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (Texts{"transfer", "usual"}));
  EXPECT_EQ(report.tuning.source, "");
  EXPECT_EQ(report.tuning.schedules, Texts());
  ASSERT_EQ(report.tuning.notes.size(), 1u);
  EXPECT_NE(report.tuning.notes[0].find("hash mismatch"), std::string::npos)
      << report.tuning.notes[0];
}

TEST_F(EnginePacks, AFileThatIsNoPackIsRefusedAtOnce) {
  auto missing = make({"/nowhere/a.pack"});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::InvalidInput);
  EXPECT_EQ(missing.status().message().find("/nowhere/a.pack: cannot open"),
            0u);
  const std::string text = folder.write("b.pack", "no pack\n");
  auto wrong = make({text});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.status().message().find(text + ": "), 0u);
}

/// On a GPU: PTX of a pack becomes machine code once, and is kept.
class CudaPacks : public FakeCudaTest {
protected:
  Engine start(const std::string &pack) {
    EngineOptions options;
    options.cacheMode = CacheMode::Disk;
    options.cacheFolder = folder.write("mark", "") + "-cache";
    options.cudaLibrary = FAKE_CUDA_PATH;
    options.packs = {pack};
    Engine engine =
        Engine::create(options,
                       [](const DecodeSpec &, const CompileOptions &,
                          CompileTimes *) -> Expected<KernelImage> {
                         return Status::failed("there is no compiler here");
                       })
            .take();
    auto program =
        engine.prepare(spec(), *engine.openDevice("cuda:0"), &report);
    EXPECT_TRUE(program.ok()) << program.status().message();
    return engine;
  }
  static DecodeSpec spec() {
    DecodeSpec spec = smallSpec();
    spec.heads = {kKeyHeads, kValueHeads, kKeyDim, kValueDim, HeadMap::Group};
    return spec;
  }
  static KernelImage packed(KernelImage image) {
    image.specText = canonicalText(spec());
    return image;
  }

  TemporaryFolder folder;
  PrepareReport report;
};

TEST_F(CudaPacks, PtxIsLinkedOnce) {
  PackBuilder pack;
  require(pack.add(packed(variantFor("sm_90a", 8)), {kAnyRows}));
  require(pack.add(packed(transferFor("sm_90a"))));
  const std::string path = folder.write("a.pack", pack.bytes().take());
  Engine cold = start(path);
  EXPECT_EQ(cold.counters().links, 2);
  EXPECT_EQ(cold.counters().packed, 2);
  EXPECT_EQ(cold.counters().compiles, 0);
  EXPECT_EQ(fake->jits, 2);
  Engine warm = start(path);
  EXPECT_EQ(warm.counters().links, 0);
  EXPECT_EQ(warm.counters().cache.diskHits, 2);
  EXPECT_EQ(fake->jits, 2);
  EXPECT_TRUE(report.warm());
}

TEST_F(CudaPacks, AnOlderTargetRunsAndIsSaid) {
  PackBuilder pack;
  require(pack.add(packed(variantFor("sm_80", 8)), {kAnyRows}));
  require(pack.add(packed(transferFor("sm_80"))));
  Engine engine = start(folder.write("a.pack", pack.bytes().take()));
  EXPECT_EQ(report.target, "sm_80");
  EXPECT_NE(report.targetNote.find("sm_80 runs in its place"),
            std::string::npos)
      << report.targetNote;
}

} // namespace
