//===- PackChoiceTest.cpp - what of a pack a device runs ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFixture.h"
#include "TestPack.h"
#include "decant/Runtime/Pack.h"

using namespace decant;
using namespace decant::test;

namespace {

DeviceInfo gpu(int major, int minor, int driver = 13000) {
  DeviceInfo info;
  info.kind = TargetKind::Nvidia;
  info.name = "a GPU";
  info.computeMajor = major;
  info.computeMinor = minor;
  info.driverVersion = driver;
  return info;
}

PackQuery layer() {
  PackQuery query;
  query.spec = "layer";
  return query;
}

using Numbers = std::vector<int>;

class PackChoiceTest : public testing::Test {
protected:
  PackChoice choose(const PackQuery &query, const DeviceInfo &device) {
    Expected<PackChoice> choice = chooseFromPack(pack.index(), query, device);
    EXPECT_TRUE(choice.ok()) << choice.status().message();
    return choice ? choice.take() : PackChoice();
  }
  std::string refusal(const PackQuery &query, const DeviceInfo &device) {
    Expected<PackChoice> choice = chooseFromPack(pack.index(), query, device);
    EXPECT_FALSE(choice.ok());
    return choice.status().message();
  }

  PackBuilder pack = testPack();
};

TEST_F(PackChoiceTest, TheOwnTargetComesFirst) {
  const PackChoice choice = choose(layer(), gpu(9, 0));
  EXPECT_EQ(choice.target, "sm_90a");
  EXPECT_EQ(choice.decode, Numbers({0, 1, 2}));
  EXPECT_EQ(toString(choice.rules), "1..8: 0, 9..64: 1, 65..: 2");
  EXPECT_EQ(choice.transfer, 3);
  EXPECT_EQ(choice.note, "");
}

TEST_F(PackChoiceTest, ThenPtxOfTheNearestOlderTarget) {
  for (const DeviceInfo &device :
       {gpu(8, 0), gpu(8, 6), gpu(8, 9), gpu(12, 0)}) {
    const PackChoice choice = choose(layer(), device);
    EXPECT_EQ(choice.target, "sm_80");
    EXPECT_EQ(choice.decode, Numbers({5}));
    EXPECT_EQ(choice.transfer, 6);
    const bool own = device.computeMajor == 8 && device.computeMinor == 0;
    EXPECT_EQ(choice.note.empty(), own) << choice.note;
  }
  EXPECT_EQ(choose(layer(), gpu(12, 0)).note,
            "the pack has nothing for sm_120a that a GPU (compute capability "
            "12.0) loads; sm_80 runs in its place");
  require(pack.add(variantFor("sm_89", 8), {kAnyRows}));
  EXPECT_EQ(choose(layer(), gpu(12, 0)).target, "sm_89");
  EXPECT_EQ(choose(layer(), gpu(8, 6)).target, "sm_80");
  require(pack.add(variantFor("sm_90", 8), {kAnyRows}));
  EXPECT_EQ(choose(layer(), gpu(10, 0)).target, "sm_90");
  EXPECT_EQ(choose(layer(), gpu(9, 0)).target, "sm_90a");
}

TEST_F(PackChoiceTest, MachineCodeIsForItsTargetAlone) {
  require(pack.add(cubinOf(variantFor("sm_80", 8)), {kAnyRows}));
  EXPECT_EQ(choose(layer(), gpu(8, 0)).decode, Numbers({8}));
  EXPECT_EQ(choose(layer(), gpu(8, 6)).decode, Numbers({5}));
  // Of some batches only: the others keep their PTX.
  require(pack.add(cubinOf(variantFor("sm_90a", 16)), {64}));
  EXPECT_EQ(choose(layer(), gpu(9, 0)).decode, Numbers({0, 9, 2}));
  // Without PTX of its own the device runs what it can.
  pack = PackBuilder();
  require(pack.add(cubinOf(variantFor("sm_90", 8)), {kAnyRows}));
  EXPECT_NE(refusal(layer(), gpu(10, 0))
                .find("it has sm_90 (cubin); sm_90: is machine code of that "
                      "target"),
            std::string::npos)
      << refusal(layer(), gpu(10, 0));
}

TEST_F(PackChoiceTest, WhatTheDriverIsTooOldForIsPassedOver) {
  KernelImage recent = variantFor("sm_90", 8);
  recent.ptxIsa = 88; // of CUDA 12.9
  pack = PackBuilder();
  require(pack.add(recent, {kAnyRows}));
  require(pack.add(variantFor("sm_80", 8), {kAnyRows}));
  EXPECT_EQ(choose(layer(), gpu(9, 0, 12090)).target, "sm_90");
  EXPECT_EQ(choose(layer(), gpu(9, 0, 12080)).target, "sm_80");
  EXPECT_NE(refusal(layer(), gpu(9, 0, 11000))
                .find("sm_90: the image is PTX ISA 8.8, which needs the driver "
                      "of CUDA 12.9 or newer; the installed driver supports "
                      "CUDA 11.0"),
            std::string::npos)
      << refusal(layer(), gpu(9, 0, 11000));
}

TEST_F(PackChoiceTest, BatchesThatAreNotRunAreNotRead) {
  PackQuery query = layer();
  query.maxRows = 8;
  EXPECT_EQ(choose(query, gpu(9, 0)).decode, Numbers({0}));
  EXPECT_EQ(toString(choose(query, gpu(9, 0)).rules), "1..: 0");
  query.maxRows = 9;
  EXPECT_EQ(toString(choose(query, gpu(9, 0)).rules), "1..8: 0, 9..: 1");
  query.minRows = 9;
  EXPECT_EQ(choose(query, gpu(9, 0)).decode, Numbers({1}));
  query.maxRows = kAnyRows;
  EXPECT_EQ(choose(query, gpu(9, 0)).decode, Numbers({1, 2}));
  EXPECT_EQ(toString(choose(query, gpu(9, 0)).rules), "1..64: 0, 65..: 1");
  query.maxRows = 3;
  EXPECT_NE(refusal(query, gpu(9, 0)).find("batches of 9 to 3 rows"),
            std::string::npos);
}

TEST_F(PackChoiceTest, SpecsAreFoundByNameOrText) {
  PackQuery query;
  query.spec = "other";
  EXPECT_EQ(choose(query, gpu(9, 0)).decode, Numbers({7}));
  EXPECT_EQ(choose(query, gpu(9, 0)).transfer, -1);
  query.spec = "";
  EXPECT_EQ(
      refusal(query, gpu(9, 0)),
      "the pack has more than one spec; it has \"layer\" with 1 token per "
      "step, \"other\" with 1 token per step");
  query.spec = "lair";
  EXPECT_EQ(refusal(query, gpu(9, 0)),
            "the pack has no spec \"lair\"; it has \"layer\" with 1 token per "
            "step, \"other\" with 1 token per step");
  // By its text a spec is found whatever it is called.
  query.specText = decodeImage(8).specText;
  EXPECT_EQ(choose(query, gpu(9, 0)).decode, Numbers({0, 1, 2}));
  query.specText += " of other gates";
  EXPECT_NE(refusal(query, gpu(9, 0)).find("no spec of the same text"),
            std::string::npos);
  query = layer();
  query.tokensPerStep = 4;
  EXPECT_NE(refusal(query, gpu(9, 0))
                .find("no spec \"layer\" with 4 tokens per step"),
            std::string::npos);
}

TEST_F(PackChoiceTest, SaysWhatThereIs) {
  EXPECT_EQ(refusal(layer(), gpu(7, 5)),
            "the pack has no variant of \"layer\" that runs on a GPU (compute "
            "capability 7.5); it has sm_90a (ptx), sm_90a (ptx, a candidate), "
            "sm_80 (ptx); a candidate is run once a tuner has picked it");
  DeviceInfo cpu;
  cpu.name = "a CPU";
  EXPECT_NE(refusal(layer(), cpu).find("runs on the CPU (a CPU)"),
            std::string::npos);
}

TEST_F(PackChoiceTest, AProgramRunsTheRulesOfItsPack) {
  TemporaryFolder folder;
  auto open = Pack::open(folder.write("test.pack", testPackBytes()));
  ASSERT_TRUE(open.ok());
  auto device = std::make_shared<FakeDevice>();
  device->facts = gpu(9, 0);
  PackReport report;
  auto program = programFromPack(**open, device, layer(), {}, &report);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE((*program)->info().canTransfer);
  EXPECT_EQ((*program)->variantCount(), 3);
  EXPECT_EQ((*open)->counters().images, 4);
  EXPECT_EQ(report.bytes, (*open)->counters().bytes);

  StepCall call;
  call.pool = {at(0x10000000000), 0, 0};
  call.rows = {at<int32_t>(0x1004), 0, 1};
  call.qkv = {at(0x2000), 0};
  call.decay = {at(0x3002), 0};
  call.beta = {at(0x4002), 0};
  call.aLog = at(0x5004);
  call.dtBias = at(0x6004);
  call.out = at(0x7000);
  for (const auto &[rows, lanes] :
       {std::pair(8, 4), std::pair(9, 16), std::pair(65, 8)}) {
    call.rows.rows = rows;
    device->log->count = 0;
    ASSERT_TRUE((*program)->step(call).ok());
    EXPECT_EQ(device->log->launches[0].blocks, int64_t(rows) * lanes);
  }
  // No launch reads or loads anything.
  EXPECT_EQ((*open)->counters().images, 4);
  EXPECT_EQ((*open)->counters().loads, 4);

  device->facts = gpu(7, 0);
  auto refused = programFromPack(**open, device, layer());
  EXPECT_EQ(refused.status().code(), StatusCode::Unavailable);
  EXPECT_NE(refused.status().message().find("test.pack: the pack has no"),
            std::string::npos);
}

// What a tuner does that has a pack and no compiler.
TEST_F(PackChoiceTest, PicksAreReplacedWithoutACompiler) {
  TemporaryFolder folder;
  require(pack.add(cubinOf(variantFor("sm_90a", 2))));
  auto before = Pack::open(folder.write("before.pack", *pack.bytes()));
  ASSERT_TRUE(before.ok());
  const Expected<std::string> bytes =
      (*before)->withPicks(0, "sm_90a", {{32, 4}, {128, 2}, {kAnyRows, 4}});
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  auto after = Pack::open(folder.write("after.pack", *bytes));
  ASSERT_TRUE(after.ok()) << after.status().message();
  const PackIndex &index = (*after)->index();
  ASSERT_EQ(index.variants.size(), 9u);
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(serialize(*(*after)->image(i)), serialize(*(*before)->image(i)));
  EXPECT_TRUE(index.variants[0].maxRows.empty());
  EXPECT_EQ(index.variants[4].maxRows, std::vector<int64_t>({32, kAnyRows}));
  // Other targets keep theirs.
  EXPECT_EQ(index.variants[5].maxRows, std::vector<int64_t>({kAnyRows}));
  const Expected<PackChoice> choice = chooseFromPack(index, layer(), gpu(9, 0));
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->decode, Numbers({8, 2})); // 8 is the machine code of 4
  EXPECT_EQ(toString(choice->rules), "1..32: 0, 33..128: 1, 129..: 0");

  auto refuse = [&](int spec, const char *target,
                    const std::vector<BatchRule> &rules) {
    return (*before)->withPicks(spec, target, rules).status().message();
  };
  EXPECT_NE(refuse(0, "sm_90a", {{kAnyRows, 5}})
                .find("before.pack: batch rule 0: found variant 5 (layer, 1 "
                      "token per step, decode, ptx for sm_80); allowed are "
                      "decode kernels of \"layer\" for sm_90a"),
            std::string::npos)
      << refuse(0, "sm_90a", {{kAnyRows, 5}});
  EXPECT_NE(refuse(0, "sm_90a", {{kAnyRows, 3}}).find("found variant 3"),
            std::string::npos);
  EXPECT_NE(refuse(0, "sm_90a", {{8, 0}}).find("more than 8 rows"),
            std::string::npos);
  EXPECT_NE(refuse(2, "sm_90a", {{kAnyRows, 0}})
                .find("found spec 2; allowed are 0 to 1"),
            std::string::npos);
}

} // namespace
