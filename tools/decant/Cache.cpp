//===- Cache.cpp - decant cache -------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks after a folder of compiled kernels, while others use it.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Spec/Suggest.h"
#include "decant/Engine.h"
#include "decant/Runtime/CacheFolder.h"

#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

using namespace decant;
using namespace decant::tool;

namespace {

struct CacheArguments {
  std::string action, folder, maxBytes;
  bool quarantine = false;
};

constexpr const char *kAbout =
    "Entries are kernels for one spec, target and compiler, in folders that "
    "verify\nthemselves: a damaged one is moved to quarantine/ and compiled "
    "again. All four\nactions are safe while other processes use the folder.\n"
    "\n"
    "  list    entries, those used last first\n"
    "  verify  read every byte of every entry; exit code 1 if one is damaged\n"
    "  gc      remove what dead writers left, then damaged entries and those "
    "that were\n          unused for longest, down to --max-bytes\n"
    "  clear   remove everything that Decant has put there, and nothing else\n"
    "\n"
    "The folder is DECANT_CACHE_DIR, else XDG_CACHE_HOME/decant, else "
    "HOME/.cache/decant.\nDECANT_CACHE_PATH names folders, with colons between "
    "them, that are read after it\nand never written. DECANT_CACHE_LIMIT is "
    "the most that the folder may hold (512M;\n2G when absent; 0 is no "
    "limit): whoever stores a kernel keeps to it.\n";

std::string sizeText(int64_t bytes) {
  return bytes < 10000      ? fmt::format("{} bytes", bytes)
         : bytes < 10000000 ? fmt::format("{:.1f} KB", double(bytes) / 1e3)
                            : fmt::format("{:.1f} MB", double(bytes) / 1e6);
}

std::string timeText(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// The name in a rule's text, which key.txt has instead of a name.
std::string ruleName(const CacheEntryInfo &entry) {
  constexpr char kRule[] = "decant.rule @";
  const std::string text = entry.field("rule.text");
  const size_t at = text.find(kRule);
  if (at == std::string::npos)
    return "";
  const size_t begin = at + sizeof(kRule) - 1;
  return text.substr(begin, text.find_first_of("( \\", begin) - begin);
}

Json toJson(const CacheTotals &totals) {
  return {{"entries", totals.entries},
          {"quarantined", totals.quarantined},
          {"leftovers", totals.leftovers},
          {"bytes", totals.bytes}};
}

Json toJson(const CacheRemoval &removed) {
  return {{"entries", removed.entries},
          {"quarantined", removed.quarantined},
          {"leftovers", removed.leftovers},
          {"bytes", removed.bytes}};
}

Json toJson(const CacheEntryInfo &entry) {
  Json json = {{"folder", entry.folder},
               {"bytes", entry.bytes},
               {"last_use", timeText(entry.lastUse)},
               {"compiler", entry.compiler},
               {"rule", ruleName(entry)}};
  for (const auto &[field, value] : entry.key)
    if (field != "rule.text" && field != "compiler")
      json["key"][field] = value;
  return json;
}

std::string rowText(const CacheEntryInfo &entry) {
  auto field = [&](const char *name) { return entry.field(name); };
  std::string kernels = field("kernels");
  if (!field("driver").empty())
    kernels += ", cubin";
  std::string note =
      entry.compiler == compilerVersion() ? "" : "  (" + entry.compiler + ")";
  return fmt::format(
      "{}  {:>10}  {:<8} {:<16} {:<22} {:<18} {}{}\n", timeText(entry.lastUse),
      sizeText(entry.bytes), field("target"), kernels, ruleName(entry),
      fmt::format("{} x {} x {}", field("heads.value"), field("heads.key_dim"),
                  field("heads.value_dim")),
      fmt::format("{}, window {}", field("state.codes"),
                  field("window.length")),
      note);
}

std::string totalsText(const std::string &folder, const CacheTotals &totals) {
  return fmt::format("{}: {} entries, {} in quarantine, {} left by writers, "
                     "{} in all\n",
                     folder, totals.entries, totals.quarantined,
                     totals.leftovers, sizeText(totals.bytes));
}

std::string removalText(const CacheRemoval &removed) {
  return fmt::format("removed {} entries, {} in quarantine and {} left by "
                     "writers: {}\n",
                     removed.entries, removed.quarantined, removed.leftovers,
                     sizeText(removed.bytes));
}

Report runList(const CacheFolder &folder) {
  Report report;
  report.json["entries"] = Json::array();
  for (const CacheEntryInfo &entry : folder.list()) {
    report.json["entries"].push_back(toJson(entry));
    report.text += rowText(entry);
  }
  return report;
}

Expected<Report> runVerify(const CacheFolder &folder, BadEntries bad) {
  const int64_t entries = folder.totals().entries;
  DECANT_ASSIGN(const std::vector<CacheProblem> problems,
                folder.verify(compilerVersion(), bad));
  Report report;
  report.json["checked"] = entries;
  report.json["problems"] = Json::array();
  for (const CacheProblem &problem : problems) {
    Json json = {{"folder", problem.folder}, {"what", problem.what}};
    json["moved_to"] = problem.movedTo.empty() ? Json() : Json(problem.movedTo);
    report.json["problems"].push_back(json);
    report.text += fmt::format("{}: {}\n", problem.folder, problem.what);
    if (!problem.movedTo.empty())
      report.text += fmt::format("  moved to {}\n", problem.movedTo);
  }
  report.text += fmt::format("{} of {} entries are whole\n",
                             entries - int64_t(problems.size()), entries);
  if (!problems.empty())
    report.verdict =
        Status::failed(fmt::format("{}: {} of {} entries are damaged",
                                   folder.path(), problems.size(), entries));
  return report;
}

Report describeRemoval(const CacheRemoval &removed) {
  Report report;
  report.json["removed"] = toJson(removed);
  report.text = removalText(removed);
  return report;
}

Expected<Report> runAction(const CacheArguments &arguments,
                           const CacheFolder &folder, int64_t maxBytes) {
  if (arguments.action == "list")
    return runList(folder);
  if (arguments.action == "verify")
    return runVerify(folder, arguments.quarantine ? BadEntries::Quarantine
                                                  : BadEntries::Report);
  DECANT_ASSIGN(const CacheRemoval removed, arguments.action == "gc"
                                                ? folder.collect(maxBytes)
                                                : folder.clear());
  return describeRemoval(removed);
}

Status checkArguments(const CacheArguments &arguments) {
  const std::vector<std::string> actions = {"list", "verify", "gc", "clear"};
  if (std::find(actions.begin(), actions.end(), arguments.action) ==
      actions.end())
    return Status::invalid(fmt::format(
        "ACTION: found \"{}\"{}; allowed: {}", arguments.action,
        spec::didYouMean(arguments.action, actions), spec::join(actions)));
  auto refuse = [&](const char *option, const char *action) {
    return Status::invalid(
        fmt::format("{}: found {} with {}; allowed: with {} alone", option,
                    option, arguments.action, action));
  };
  if (!arguments.maxBytes.empty() && arguments.action != "gc")
    return refuse("--max-bytes", "gc");
  if (arguments.quarantine && arguments.action != "verify")
    return refuse("--quarantine", "verify");
  return {};
}

Expected<Report> runCache(const CacheArguments &arguments) {
  DECANT_TRY(checkArguments(arguments));
  const EngineOptions options = EngineOptions::fromEnvironment();
  DECANT_TRY(options.environment);
  int64_t maxBytes = options.cacheBytes;
  if (!arguments.maxBytes.empty()) {
    DECANT_ASSIGN(maxBytes, parseByteCount("--max-bytes", arguments.maxBytes));
  } else if (maxBytes == 0) {
    maxBytes = INT64_MAX; // no limit
  }
  const std::string path =
      arguments.folder.empty() ? options.cacheFolder : arguments.folder;
  if (path.empty())
    return Status::invalid(
        "--folder: found none, and neither DECANT_CACHE_DIR, XDG_CACHE_HOME "
        "nor HOME is set; allowed: a folder");
  DECANT_ASSIGN(const CacheFolder folder, CacheFolder::open(path));
  DECANT_ASSIGN(Report report, runAction(arguments, folder, maxBytes));
  const CacheTotals totals = folder.totals();
  Json json = {{"action", arguments.action}, {"folder", path}};
  json.update(report.json);
  json["totals"] = toJson(totals);
  report.json = std::move(json);
  report.text += totalsText(path, totals);
  return report;
}

} // namespace

Command decant::tool::addCache(CLI::App &root) {
  auto arguments = std::make_shared<CacheArguments>();
  CLI::App *app =
      root.add_subcommand("cache", "Look after the folder of compiled kernels");
  app->footer(kAbout);
  app->add_option("ACTION", arguments->action, "list, verify, gc or clear")
      ->required()
      ->option_text(" ");
  app->add_option("--folder", arguments->folder,
                  "Another cache than the one that `decant env` names")
      ->option_text("FOLDER");
  app->add_option("--max-bytes", arguments->maxBytes,
                  "With gc: how much may stay, as 512M; DECANT_CACHE_LIMIT "
                  "when absent")
      ->option_text("N");
  app->add_flag("--quarantine", arguments->quarantine,
                "With verify: move damaged entries to quarantine/");
  return {app,
          [arguments](const Invocation &) { return runCache(*arguments); }};
}
