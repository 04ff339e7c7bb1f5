//===- TuneOptions.cpp - what decant tune is asked ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TuneOptions.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

void decant::tool::addTuneOptions(CLI::App &app, TuneOptions &options) {
  addSpecArguments(app, options.spec, "A spec file or a preset's name");
  app.add_option("--device", options.device,
                 "cuda:N (cuda:0 by default), cpu, or model:TARGET, which "
                 "runs nothing and ranks by a model")
      ->option_text("DEVICE");
  app.add_option("--batch", options.batches,
                 "The batches that are timed; 1,8,32,128,512 by default")
      ->option_text("LIST");
  app.add_option("--trace", options.traces,
                 "A safetensors file with q, k, v, g and beta of one sequence "
                 "of the layer; may be repeated. Formats, windows and "
                 "compensators are then searched too")
      ->option_text("FILE");
  app.add_option("--trace-layer", options.traced.spec,
                 "The layer that was traced, if it is not SPEC: errors are of "
                 "its heads and inputs, times of SPEC's")
      ->option_text("SPEC");
  app.add_option("--tokens", options.tokens,
                 "Use the first N tokens of each trace; 256 by default. "
                 "Windows of more than half of them are not tried")
      ->option_text("N");
  app.add_option("--max-error", options.maxError,
                 "The relative error of the outputs that is allowed; that of "
                 "SPEC's own format when absent")
      ->option_text("X");
  app.add_option("--max-bits", options.maxBits,
                 "The bits per element that are allowed")
      ->option_text("B");
  app.add_option("--formats", options.formats,
                 "What is searched: methods (the presets), mixtures (of "
                 "fields) or all")
      ->option_text("SET");
  app.add_option("-o,--output", options.output,
                 "Add the result to this file; by default to one in the "
                 "folder where programs look for records")
      ->option_text("FILE");
  app.add_option("--plot", options.plot,
                 "Draw the formats' errors over bits and time")
      ->option_text("FILE.svg");
  app.add_option("--spec-output", options.specOutput,
                 "Write the chosen format as a spec")
      ->option_text("FILE");
  app.add_option("--pack", options.pack,
                 "Time the variants of SPEC that this pack holds, and compile "
                 "nothing")
      ->option_text("PACK");
  app.add_option("--pack-output", options.packOutput,
                 "Write the pack with the variants that were chosen as its "
                 "picks")
      ->option_text("PACK");
  app.add_option("--candidates", options.candidates,
                 "Try at most N schedules of a format; 48 by default")
      ->option_text("N");
  app.add_option("--budget", options.budget,
                 "Begin nothing new after so many seconds; 170 by default")
      ->option_text("SECONDS");
  app.add_option("--threads", options.threads,
                 "Threads that compile and check; one per processor by default")
      ->option_text("N");
  app.add_flag("--ptxas", options.ptxas,
               "Machine code by the ptxas on PATH, as many kernels at a time "
               "as there are threads, where the driver compiles one after the "
               "other");
  app.add_option("--kernels", options.kernels,
                 "Keep the kernels that are tried in this cache folder, for a "
                 "run to come; by default they are forgotten")
      ->option_text("FOLDER");
  app.footer(
      "Measurements are noted in FILE.journal as they are made; after an "
      "interruption (Ctrl-C) the same command goes on from there. A schedule "
      "replaces the usual one only if it is faster beyond noise, and one that "
      "FILE has from an earlier run stays under the same rule. Programs look "
      "for records in DECANT_TUNING_DIR, DECANT_SITE_TUNING_DIR, then among "
      "those that are built in; see decant records.");
}

Status decant::tool::checkOptions(const TuneOptions &options) {
  auto refuse = [](const char *name, auto found, const char *allowed) {
    return Status::invalid(
        fmt::format("{}: found {}; allowed: {}", name, found, allowed));
  };
  if (options.tokens < 1)
    return refuse("--tokens", options.tokens, "a number from 1");
  if (options.candidates < 1)
    return refuse("--candidates", options.candidates, "a number from 1");
  if (options.threads < 0 || options.threads > 1024)
    return refuse("--threads", options.threads, "0 to 1024");
  if (!(options.budget > 0))
    return refuse("--budget", options.budget, "seconds, more than 0");
  if (options.maxError && !(*options.maxError > 0))
    return refuse("--max-error", *options.maxError, "a number above 0");
  if (options.maxBits && !(*options.maxBits > 0))
    return refuse("--max-bits", *options.maxBits, "a number above 0");
  if (options.formats != "all" && options.formats != "methods" &&
      options.formats != "mixtures")
    return refuse("--formats", "\"" + options.formats + "\"",
                  "methods, mixtures or all");
  const bool needsTrace =
      options.maxError || options.maxBits || !options.plot.empty() ||
      !options.specOutput.empty() || !options.traced.spec.empty();
  if (needsTrace && options.traces.empty())
    return Status::invalid(
        "--max-error, --max-bits, --plot, --spec-output and --trace-layer are "
        "about formats, whose errors need a trace; found no --trace");
  if (!options.pack.empty() && !options.traces.empty())
    return Status::invalid("--pack: found beside --trace; allowed is one of "
                           "them, since a pack's formats are what they are");
  if (!options.pack.empty() && options.ptxas)
    return Status::invalid("--ptxas: found beside --pack, whose kernels are "
                           "what they are; allowed is one of them");
  if (options.pack.empty() && !options.packOutput.empty())
    return Status::invalid("--pack-output: found without --pack, whose "
                           "variants it would hold");
  constexpr size_t kEnding = 4;
  const std::string &plot = options.plot;
  if (!plot.empty() && (plot.size() <= kEnding ||
                        plot.compare(plot.size() - kEnding, kEnding, ".svg")))
    return refuse("--plot", "\"" + plot + "\"", "a name that ends in .svg");
  return {};
}
