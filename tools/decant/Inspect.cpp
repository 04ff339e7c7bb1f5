//===- Inspect.cpp - decant inspect ---------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a spec's kernels are made of: the bytes of a slot, the lanes of a block,
// the arguments, the memory traffic of a step and, with an installed ptxas, the
// registers. Reads an image file as well as a spec; of a pack, what it holds,
// and whether every byte of it is sound.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Bench/StepBytes.h"
#include "PackReport.h"
#include "Ptxas.h"
#include "SlotPicture.h"
#include "SpecArguments.h"
#include "Targets.h"
#include "decant/Compiler/Compiler.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <sstream>

using namespace decant;
using namespace decant::tool;
using bench::Traffic;

namespace {

struct InspectArguments {
  SpecSource spec;
  std::string target;
};

/// The first bytes of every image file; no spec starts like this.
constexpr const char *kImageStart = "DECANT";

bool isImageFile(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return false;
  std::string start(std::char_traits<char>::length(kImageStart), ' ');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), std::streamsize(start.size()));
  return file && start == kImageStart;
}

/// `what` is what the file is: "an image".
Status checkNoOptions(const InspectArguments &arguments, const char *what) {
  auto refuse = [&](const char *option) {
    return Status::invalid(fmt::format(
        "{}: found {} beside {}, which is {} and compiled already; allowed: {} "
        "with a spec",
        option, option, arguments.spec.spec, what, option));
  };
  if (!arguments.spec.overrides.empty())
    return refuse("--set");
  if (!arguments.target.empty())
    return refuse("--target");
  return {};
}

Expected<KernelImage> readImage(const InspectArguments &arguments) {
  const std::string &path = arguments.spec.spec;
  DECANT_TRY(checkNoOptions(arguments, "an image"));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file)
    return Status::invalid(path + ": cannot be read");
  Expected<KernelImage> image = deserialize(bytes.str());
  return image ? image : Expected<KernelImage>(image.status().within(path));
}

Expected<KernelImage> compileSpec(const InspectArguments &arguments) {
  DECANT_ASSIGN(const DecodeSpec spec, readSpec(arguments.spec));
  CompileOptions options;
  DECANT_ASSIGN(options.target, chooseTarget(arguments.target));
  return compile(spec, options);
}

void describeState(const KernelImage &image, Report &report) {
  const SlotLayout &layout = image.layout;
  report.json["slot"] = slotToJson(layout);
  report.json["bytes_per_state"] = layout.stateBytesPerHead();
  report.json["bits_per_element"] = layout.bitsPerElement();
  report.text += "\n" + drawSlot(layout);
  report.text += fmt::format(
      "\n{} bytes of codes, scales and compensators per head: {:.4g} bits per "
      "element\n",
      layout.stateBytesPerHead(), layout.bitsPerElement());
}

Status describeSchedule(const KernelImage &image, Report &report) {
  DECANT_ASSIGN(const Schedule schedule, parseSchedule(image.scheduleText));
  report.json["schedule"] = image.scheduleText;
  report.text +=
      fmt::format("\nschedule {}\n{}", image.scheduleText, drawLanes(schedule));
  return {};
}

/// The table of an image has no type for slot numbers and counts, which are i32
/// always.
const char *elementOf(const KernelArg &arg) {
  for (const char *name : {"slots", "cu_seqlens", "accepted"})
    if (arg.name == name)
      return "i32";
  return toString(arg.type);
}

Json argumentToJson(const KernelArg &arg) {
  if (arg.kind == ArgKind::Int64)
    return {{"name", arg.name}, {"kind", "int64"}};
  return {{"name", arg.name},         {"kind", "pointer"},
          {"type", elementOf(arg)},   {"align", arg.align},
          {"writable", arg.writable}, {"row_width", arg.rowWidth}};
}

std::string argumentToText(const KernelArg &arg) {
  if (arg.kind == ArgKind::Int64)
    return fmt::format("  {:<13} int64\n", arg.name);
  std::string text = fmt::format("  {:<13} {:<6} {:<8} align {}", arg.name,
                                 fmt::format("{}*", elementOf(arg)),
                                 arg.writable ? "written" : "read", arg.align);
  if (arg.rowWidth > 0)
    text += fmt::format(", {} per row", arg.rowWidth);
  return text + "\n";
}

void describeKernels(const KernelImage &image, Report &report) {
  report.json["kernels"] = Json::array();
  for (const KernelEntry &entry : image.entries) {
    Json json = {{"role", entry.role},
                 {"symbol", entry.symbol},
                 {"blocks_per_row", entry.blocksPerRow},
                 {"threads", entry.threads},
                 {"shared_bytes", entry.sharedBytes}};
    json["arguments"] = Json::array();
    report.text += fmt::format(
        "\nkernel {}: {} blocks per row, {} threads, {} bytes of shared "
        "memory\n",
        entry.role, entry.blocksPerRow, entry.threads, entry.sharedBytes);
    for (const KernelArg &arg : entry.args) {
      json["arguments"].push_back(argumentToJson(arg));
      report.text += argumentToText(arg);
    }
    report.json["kernels"].push_back(json);
  }
}

void describeTraffic(const KernelImage &image, Report &report) {
  if (!image.find("step"))
    return; // an image of pack and unpack
  std::vector<Traffic> list = bench::stepTraffic(image);
  list.push_back(bench::totalOf(list));
  Json &json = report.json["bytes_per_step"] = Json::object();
  report.text += fmt::format("\nbytes of one token of one sequence, mean over "
                             "a window\n  {:<14} {:>10} {:>10}\n",
                             "", "read", "written");
  for (const Traffic &traffic : list) {
    json[traffic.what] = {{"read", traffic.read}, {"written", traffic.written}};
    report.text += fmt::format("  {:<14} {:>10.0f} {:>10.0f}\n", traffic.what,
                               traffic.read, traffic.written);
  }
}

Status describeRegisters(const KernelImage &image, Report &report) {
  if (image.kind != CodeKind::Ptx)
    return {};
  const std::string program = findPtxas();
  report.json["ptxas"] = program.empty() ? Json() : Json(program);
  if (program.empty()) {
    report.text += "\nregisters  not known: there is no ptxas on PATH\n";
    return {};
  }
  DECANT_ASSIGN(const auto kernels,
                runPtxas(program, image.code, image.target));
  report.json["resources"] = Json::array();
  report.text += fmt::format("\n{}\n", program);
  for (const PtxasKernel &kernel : kernels) {
    report.json["resources"].push_back({{"symbol", kernel.symbol},
                                        {"registers", kernel.registers},
                                        {"shared_bytes", kernel.sharedBytes},
                                        {"spill_stores", kernel.spillStores},
                                        {"spill_loads", kernel.spillLoads},
                                        {"stack_bytes", kernel.stackBytes}});
    report.text += fmt::format(
        "  {:<12} {} registers, {} bytes of static shared memory, {} + {} "
        "bytes spilled\n",
        kernel.symbol, kernel.registers, kernel.sharedBytes, kernel.spillStores,
        kernel.spillLoads);
  }
  return {};
}

Expected<Report> runInspect(const InspectArguments &arguments) {
  if (isPackFile(arguments.spec.spec)) {
    DECANT_TRY(checkNoOptions(arguments, "a pack"));
    return inspectPack(arguments.spec.spec);
  }
  Report report;
  DECANT_ASSIGN(const KernelImage image, isImageFile(arguments.spec.spec)
                                             ? readImage(arguments)
                                             : compileSpec(arguments));
  report.json["spec"] = image.specName;
  report.json["target"] = image.target;
  report.json["compiler"] = image.compiler;
  report.json["code_kind"] = toString(image.kind);
  report.json["code_bytes"] = image.code.size();
  report.json["ptx_isa"] = image.ptxIsa;
  report.text = fmt::format("{} for {}: {} bytes of {}, by {}\n",
                            image.specName, image.target, image.code.size(),
                            toString(image.kind), image.compiler);
  describeState(image, report);
  DECANT_TRY(describeSchedule(image, report));
  describeKernels(image, report);
  describeTraffic(image, report);
  // The assembler is a guest: without its word the rest still stands.
  if (Status status = describeRegisters(image, report); !status.ok())
    report.warnings.push_back(status.message());
  return report;
}

} // namespace

Command decant::tool::addInspect(CLI::App &root) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App *app = root.add_subcommand(
      "inspect", "Show the slot's bytes, the schedule, the kernels' arguments "
                 "and the bytes of a step");
  addSpecArguments(*app, arguments->spec,
                   "A spec file, a preset's name, an image file or a pack");
  app->add_option("--target", arguments->target,
                  "x86-64 or a GPU target such as sm_90a; by default the GPU's "
                  "if there is one, else x86-64")
      ->option_text("TARGET");
  return {app,
          [arguments](const Invocation &) { return runInspect(*arguments); }};
}
