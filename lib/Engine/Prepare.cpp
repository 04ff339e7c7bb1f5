//===- Prepare.cpp - a program for a spec on a device --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who says which schedules, in the order of Engine.h; then their images, made
// at the same time.
//
//===----------------------------------------------------------------------===//

#include "EngineImpl.h"

#include "Stopwatch.h"
#include "decant/Runtime/DeviceTarget.h"

#include <algorithm>
#include <fmt/format.h>
#include <future>

using namespace decant;

/// A capture records launches; what compiles and loads would break it, or be
/// done again with each replay.
static Status checkNoCapture(const DecodeSpec &spec, const Device &device,
                             StreamHandle stream) {
  DECANT_ASSIGN(const bool capturing, device.isCapturing(stream));
  if (!capturing)
    return {};
  const HeadShape &heads = spec.heads;
  return Status::invalid(fmt::format(
      "{} ({} value heads of {} x {}, window {}, {} tokens per step): found {} "
      "being captured; allowed: to prepare before a capture, since kernels are "
      "compiled and loaded",
      spec.name, heads.value, heads.keyDim, heads.valueDim, spec.window.length,
      spec.tokensPerStep,
      stream ? fmt::format("stream {}", stream)
             : "a stream that waits for the default one"));
}

Expected<std::unique_ptr<Program>>
Engine::prepare(const DecodeSpec &spec, std::shared_ptr<Device> device,
                PrepareReport *report, StreamHandle stream) {
  PrepareReport local;
  PrepareReport &facts = report ? *report : local;
  facts = PrepareReport();
  if (!device)
    return Status::invalid("argument \"device\" is null");

  DECANT_TRY(checkNoCapture(spec, *device, stream));

  DECANT_ASSIGN(const DeviceTarget chosen, targetOf(device->info()));
  facts.target = chosen.target.name;
  facts.targetNote = chosen.note;
  // Null where nobody has said anything, or where it does not load here.
  DECANT_ASSIGN(auto program, prepareTuned(spec, device, chosen.target, facts));
  if (!program) {
    DECANT_ASSIGN(program, preparePacked(spec, device, chosen.target, facts));
  }
  if (!program && impl->options.tune == TunePolicy::IfMissing &&
      impl->options.variants != VariantChoice::Fixed) {
    if (Status status = tune(spec, device, chosen.target, facts); !status.ok())
      facts.tuning.notes.push_back(status.within("tuning").message());
    DECANT_ASSIGN(program, prepareTuned(spec, device, chosen.target, facts));
  }
  return program
             ? std::move(program)
             : prepareDefault(spec, std::move(device), chosen.target, facts);
}

/// Blocks per SM were counted with one assembler and for the rules of this
/// repository. Where registers of another driver's, or of a user's rule, do not
/// fit beside so many, fewer blocks have more of them.
Expected<std::unique_ptr<Program>>
Engine::prepareDefault(const DecodeSpec &spec, std::shared_ptr<Device> device,
                       const TargetInfo &target, PrepareReport &facts) {
  VariantPlan plan;
  DECANT_ASSIGN(auto program, prepareWith(spec, device, target, plan,
                                          SpillPolicy::Report, facts));
  const std::vector<KernelResources> resources = program->resources();
  if (std::all_of(
          resources.begin(), resources.end(),
          [](const KernelResources &each) { return each.localBytes == 0; }))
    return program;
  DECANT_ASSIGN(Schedule schedule,
                parseSchedule(program->variant(0).scheduleText));
  plan.order = program->layout().codeOrder; // whatever the schedule
  program.reset();
  const int counted = schedule.blocksPerSm;
  for (;;) {
    schedule.blocksPerSm = std::max(1, 2 * schedule.blocksPerSm / 3);
    plan.schedules = {schedule};
    auto roomier =
        prepareWith(spec, device, target, plan, SpillPolicy::Refuse, facts);
    if (roomier)
      facts.warnings.push_back(fmt::format(
          "kernels spill registers on this device with {}; they are those of "
          "blocks_per_sm = {}",
          counted > 0 ? fmt::format("the default, blocks_per_sm = {}", counted)
                      : "as many blocks per SM as the assembler likes",
          schedule.blocksPerSm));
    if (roomier || schedule.blocksPerSm == 1)
      return roomier;
  }
}

Expected<std::unique_ptr<Program>>
Engine::prepareTuned(const DecodeSpec &spec, std::shared_ptr<Device> device,
                     const TargetInfo &target, PrepareReport &facts) {
  std::vector<std::string> notes = std::move(facts.tuning.notes);
  const VariantPlan plan =
      impl->tuned.plan(spec, *device, impl->options.variants, facts.tuning);
  for (std::string &note : facts.tuning.notes)
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  facts.tuning.notes = std::move(notes);
  if (!facts.tuning.found)
    return std::unique_ptr<Program>();
  // A record of another build is a hint, which is not worth compiling for where
  // a pack has kernels.
  std::vector<std::string> ignored;
  if (!plan.exact &&
      impl->packs.picksFor(spec, device->info(), impl->options.variants,
                           ignored) &&
      !std::all_of(plan.schedules.begin(), plan.schedules.end(),
                   [&](const auto &schedule) {
                     CompileOptions options;
                     options.target = target;
                     options.schedule = schedule;
                     options.order = plan.order;
                     return impl->packs.lists(spec, options, device->info());
                   })) {
    facts.tuning.found = false;
    facts.tuning.schedules.clear();
    facts.tuning.notes.push_back(
        fmt::format("{} is of another build, and its schedules are in no pack",
                    std::exchange(facts.tuning.source, {})));
    return std::unique_ptr<Program>();
  }
  auto program = prepareWith(spec, std::move(device), target, plan,
                             SpillPolicy::Refuse, facts);
  if (program)
    return program;
  // A record of another driver or build: what was fast there may spill here.
  facts.tuning.found = false;
  facts.tuning.schedules.clear();
  facts.tuning.notes.push_back(
      fmt::format("{}: {}", std::exchange(facts.tuning.source, {}),
                  program.status().message()));
  return std::unique_ptr<Program>();
}

Expected<std::unique_ptr<Program>>
Engine::preparePacked(const DecodeSpec &spec, std::shared_ptr<Device> device,
                      const TargetInfo &target, PrepareReport &facts) {
  std::optional<PackShelf::Picks> picks = impl->packs.picksFor(
      spec, device->info(), impl->options.variants, facts.tuning.notes);
  if (!picks)
    return std::unique_ptr<Program>();
  const std::vector<PackVariant> &all = picks->pack->index().variants;
  VariantPlan plan;
  plan.schedules.assign(picks->choice.decode.size(), std::nullopt);
  plan.rules = picks->choice.rules;
  plan.order = all[size_t(picks->choice.decode.front())].order;
  plan.pack = picks->pack;
  plan.packed = picks->choice.decode;
  plan.packedTransfer = picks->choice.transfer;
  for (int variant : plan.packed)
    facts.tuning.schedules.push_back(all[size_t(variant)].schedule);
  // The pack may have an older target than the compiler would choose.
  DECANT_ASSIGN(const TargetInfo packed, lookupTarget(picks->choice.target));
  auto program = prepareWith(spec, std::move(device), packed, plan,
                             SpillPolicy::Refuse, facts);
  if (!program) {
    facts.tuning.schedules.clear();
    facts.tuning.notes.push_back(
        program.status().within(picks->pack->path()).message());
    return std::unique_ptr<Program>();
  }
  facts.tuning.source = "pack, " + picks->pack->path();
  facts.target = packed.name;
  if (!picks->choice.note.empty())
    facts.targetNote = picks->choice.note;
  return program;
}

Expected<std::unique_ptr<Program>>
Engine::prepareWith(const DecodeSpec &spec, std::shared_ptr<Device> device,
                    const TargetInfo &target, const VariantPlan &plan,
                    SpillPolicy spills, PrepareReport &facts) {
  // The first variant, transfers, then further variants.
  const size_t variants = plan.schedules.size();
  facts.images.assign(variants + 1, ImageReport());
  std::vector<std::vector<std::string>> packNotes(variants + 1);
  auto make = [&](size_t index) -> Expected<KernelImage> {
    const size_t variant = index == 0 ? 0 : index - 1;
    CompileOptions own;
    own.target = target;
    own.order = plan.order;
    own.kernels = index == 1 ? KernelSet::Transfer : KernelSet::Decode;
    if (index != 1) // transfers have their own schedules
      own.schedule = plan.schedules[variant];
    ImageReport &report = facts.images[index];
    report.kernels = own.kernels;
    std::optional<KernelImage> packed;
    const int number = index == 1  ? plan.packedTransfer
                       : plan.pack ? plan.packed[variant]
                                   : -1;
    if (number >= 0) {
      Expected<KernelImage> image = plan.pack->image(number);
      if (!image && index != 1)
        return image;
      // Transfers can be compiled for the slots that there are.
      if (!image)
        packNotes[index].push_back(image.status().message());
      else
        packed = image.take();
      report.pack = packed ? plan.pack->path() : "";
    } else {
      packed = impl->packs.image(spec, own, device->info(), report.pack,
                                 packNotes[index]);
    }
    return packed ? impl->images.loadable(std::move(*packed), *device, report)
                  : impl->images.loadable(spec, own, *device, report);
  };
  Stopwatch making;
  // By default std::async falls back to this thread where no other is to be
  // had. A future's destructor waits.
  std::vector<std::future<Expected<KernelImage>>> others;
  for (size_t index = 1; index <= variants; ++index)
    others.push_back(std::async([&make, index] { return make(index); }));
  std::vector<Expected<KernelImage>> made = {make(0)};
  for (auto &other : others)
    made.push_back(other.get());
  ProgramImages images;
  images.rules = plan.rules;
  for (size_t index = 0; index <= variants; ++index)
    if (index != 1) {
      DECANT_ASSIGN(KernelImage decode, std::move(made[index]));
      images.decode.push_back(std::move(decode));
    }
  // A rule that carries vectors beside its state has no transfer kernels.
  if (images.decode.front().layout.record.carried > 0) {
    facts.images.erase(facts.images.begin() + 1);
  } else {
    DECANT_ASSIGN(images.transfer, std::move(made[1]));
  }
  facts.imagesMs = making.milliseconds();
  for (std::string &warning : impl->images.takeWarnings())
    facts.warnings.push_back(std::move(warning));
  for (auto &notes : packNotes)
    facts.warnings.insert(facts.warnings.end(), notes.begin(), notes.end());

  Stopwatch loading;
  LoadOptions load;
  load.spills = spills;
  auto program = Program::create(std::move(device), std::move(images), load);
  facts.loadMs = loading.milliseconds();
  impl->loads += program.ok();
  return program;
}
