//===- Main.cpp - the bytelm command line ---------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bytelm generate writes text, judge a report, trace names of files on stdout;
// errors go to stderr. Ends with 0 ok, 1 the job failed, 2 the input is wrong.
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Generate.h"
#include "Judge.h"
#include "LayerSpecs.h"
#include "Report.h"
#include "Trace.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <thread>

using namespace bytelm;

namespace {

struct Options {
  std::string model;
  SpecOptions specs;
  std::string prompt = "import os\n";
  Sampling sampling;
  int streams = 16, tokens = 4096;
  int stream = 0;
  std::string data, reference, folder;
  bool json = false;
};

void addModel(CLI::App &app, Options &options) {
  app.add_option("--model", options.model,
                 "The folder of bytelm-*.safetensors and streams.bin")
      ->required();
  app.add_option("--threads", options.specs.threads,
                 "0 (the default): one per processor, 16 at most");
}

void addData(CLI::App &app, Options &options) {
  app.add_option("--tokens", options.tokens, "Bytes of each sequence (4096)");
  app.add_option("--data", options.data,
                 "Instead of the streams.bin of --model");
}

void addSpecs(CLI::App &app, Options &options) {
  app.add_option("--spec", options.specs.specs,
                 "[gdn=|kda=|LAYER=] and a method preset, a spec file or plain "
                 "(the engine's own fp32); leapquant-int8 without; repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--set", options.specs.fields,
                 "[gdn:|kda:|LAYER:]PATH=VALUE, a field of the specs; "
                 "repeatable")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--device", options.specs.device,
                 "Where states are: cpu (the default) or cuda:N");
}

void runGenerate(const Options &options, const Model &model) {
  const Sampling &sampling = options.sampling;
  if (options.prompt.empty())
    wrongInput("--prompt: is empty; allowed is one byte or more");
  if (sampling.bytes < 1)
    wrongInput("--bytes: found {}; allowed are 1 and more", sampling.bytes);
  if (!(sampling.temperature >= 0 && std::isfinite(sampling.temperature)))
    wrongInput("--temperature: found {}; allowed is a number from 0",
               sampling.temperature);
  LayerSpecs specs(model, options.specs);
  Network network(model, specs.states(1), 1, options.specs.threads);
  std::cout << options.prompt;
  generate(network, options.prompt, sampling,
           [](char byte) { std::cout << byte << std::flush; });
  std::cout << std::endl;
  if (!std::cout)
    throw JobError("stdout: the text cannot be written");
}

std::string dataFile(const Options &options) {
  return options.data.empty() ? options.model + "/streams.bin" : options.data;
}

void runTrace(const Options &options, const Model &model) {
  const Streams streams =
      readStreams(dataFile(options), 1, options.tokens, options.stream);
  for (const std::string &file :
       writeTraces(model, streams, options.folder, options.specs.threads))
    std::cout << file << "\n";
  if (!std::cout.flush())
    throw JobError("stdout: the files' names cannot be written");
}

void runJudge(const Options &options, const Model &model) {
  const Streams streams =
      readStreams(dataFile(options), options.streams, options.tokens);
  if (options.tokens <= Verdict::kFirstToken)
    wrongInput("--tokens: found {}; tokens are judged from {} on, so more are "
               "needed",
               options.tokens, Verdict::kFirstToken);
  LayerSpecs specs(model, options.specs);
  Network network(model, specs.states(streams.rows), streams.rows,
                  options.specs.threads);
  Reference reference(model, streams, options.reference, options.specs.threads);
  const Verdict verdict = judge(reference, network, streams);
  const Judged judged{verdict, streams, network.layers(), specs.deviceName(),
                      reference.isFromFile()};
  std::cout << (options.json ? toJson(judged) : toText(judged)) << std::flush;
  if (!std::cout)
    throw JobError("stdout: the report cannot be written");
}

int run(int argc, char **argv) {
  Options options;
  CLI::App root("Runs bytelm, a small language model of bytes, with recurrent "
                "states that Decant stores.",
                "bytelm");
  root.require_subcommand(1);
  CLI::App *text =
      root.add_subcommand("generate", "Write text behind a prompt");
  addModel(*text, options);
  addSpecs(*text, options);
  text->add_option("--prompt", options.prompt, "The text to go on from");
  text->add_option("--bytes", options.sampling.bytes,
                   "How many to write (400)");
  text->add_option("--temperature", options.sampling.temperature,
                   "0 is the most likely byte (0.8)");
  text->add_option("--seed", options.sampling.seed,
                   "Of the random numbers (1)");
  CLI::App *judged = root.add_subcommand(
      "judge", "Compare a stored state with an fp32 one, byte by byte");
  addModel(*judged, options);
  addSpecs(*judged, options);
  addData(*judged, options);
  judged->add_option("--streams", options.streams, "Sequences, 1 to 16 (16)");
  judged->add_option("--reference", options.reference,
                     "A file that keeps the fp32 logits for the next call");
  judged->add_flag("--json", options.json, "Print one JSON object");
  CLI::App *traced = root.add_subcommand(
      "trace", "Write what every layer hands to its state, for decant");
  addModel(*traced, options);
  addData(*traced, options);
  traced->add_option("--stream", options.stream, "Which sequence, 0 to 15 (0)");
  traced->add_option("-o", options.folder, "The folder for a file per layer")
      ->required();
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    const int code = root.exit(error);
    return code == 0 ? 0 : 2;
  }
  if (options.specs.threads < 0)
    wrongInput("--threads: found {}; allowed are 0 and more",
               options.specs.threads);
  constexpr int kMostThreads = 16; // beyond it chunks are too small to share
  if (options.specs.threads == 0)
    options.specs.threads =
        std::clamp(int(std::thread::hardware_concurrency()), 1, kMostThreads);
  const Model model = buildModel(readWeights(options.model));
  if (text->parsed())
    runGenerate(options, model);
  else if (traced->parsed())
    runTrace(options, model);
  else
    runJudge(options, model);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const InputError &error) {
    fmt::print(stderr, "bytelm: error: {}\n", error.what());
    return 2;
  } catch (const std::exception &error) {
    fmt::print(stderr, "bytelm: error: {}\n", error.what());
    return 1;
  }
}
