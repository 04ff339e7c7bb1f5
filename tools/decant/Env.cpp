//===- Env.cpp - decant env -----------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Decant finds on this machine. A missing GPU or cache is a finding, not
// an error.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Ptxas.h"
#include "Target/EmitObject.h"
#include "decant/Engine.h"
#include "decant/Runtime/Cuda.h"
#include "decant/Runtime/DeviceTarget.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

using namespace decant;
using namespace decant::tool;

namespace {

/// What EngineOptions::fromEnvironment() reads.
constexpr const char *kVariables[] = {
    "DECANT_CACHE_DIR",       "XDG_CACHE_HOME",     "HOME",
    "DECANT_CACHE_PATH",      "DECANT_CACHE_LIMIT", "DECANT_TUNING_DIR",
    "DECANT_SITE_TUNING_DIR", "XDG_CONFIG_HOME",    "DECANT_VARIANTS",
    "DECANT_PACKS",           "DECANT_TUNE"};

/// Of DECANT_CACHE_LIMIT's M.
constexpr double kMega = 1 << 20;

/// Why nothing can be written below `folder`, empty if it can; creates nothing.
std::string whyNotWritable(const std::filesystem::path &folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path nearest = fs::absolute(folder, error);
  // An error (a file in the place of a folder) is judged like an absence.
  while (!fs::exists(nearest, error) && nearest.has_relative_path())
    nearest = nearest.parent_path();
  if (!fs::is_directory(nearest, error))
    return fmt::format("{} is not a folder", nearest.string());
  if (::access(nearest.c_str(), W_OK | X_OK) != 0)
    return fmt::format("{}: {}", nearest.string(), std::strerror(errno));
  return "";
}

void describeCache(Report &report) {
  const EngineOptions options = EngineOptions::fromEnvironment();
  if (!options.environment.ok())
    report.warnings.push_back(options.environment.message());
  if (options.cacheMode != CacheMode::Disk) {
    report.json["cache"] = {{"folder", nullptr}, {"writable", false}};
    report.text += "cache      none: neither DECANT_CACHE_DIR, XDG_CACHE_HOME "
                   "nor HOME is set; kernels are kept in memory\n";
    return;
  }
  const std::string problem = whyNotWritable(options.cacheFolder);
  Json cache = {{"folder", options.cacheFolder}, {"writable", problem.empty()}};
  if (!problem.empty())
    cache["reason"] = problem;
  cache["max_bytes"] = options.cacheBytes;
  cache["layers"] = options.cacheLayers;
  report.json["cache"] = cache;
  report.text +=
      fmt::format("cache      {} ({}), {}\n", options.cacheFolder,
                  problem.empty() ? "writable" : "not writable: " + problem,
                  options.cacheBytes == 0
                      ? "no limit"
                      : fmt::format("{:.1f} MB at most",
                                    double(options.cacheBytes) / kMega));
  for (const std::string &layer : options.cacheLayers)
    report.text += fmt::format("           below it, read only: {}\n", layer);
}

Status describeDevice(const std::shared_ptr<const CudaDriver> &driver,
                      int ordinal, Report &report) {
  DECANT_ASSIGN(const auto device, openCudaDevice(driver, ordinal));
  const DeviceInfo &info = device->info();
  const std::string name = fmt::format("cuda:{}", ordinal);
  const std::string compute =
      fmt::format("{}.{}", info.computeMajor, info.computeMinor);
  Json json = {{"device", name},
               {"name", info.name},
               {"compute_capability", compute},
               {"memory_bytes", info.memoryBytes},
               {"shared_bytes", info.maxSharedBytes}};
  const auto chosen = targetOf(info);
  json["target"] = chosen ? Json(chosen->target.name) : Json();
  const std::string note = chosen ? chosen->note : chosen.status().message();
  if (!note.empty())
    json["note"] = note;
  report.json["devices"].push_back(json);
  report.text += fmt::format(
      "{:<10} {}, compute capability {}, {}\n", name, info.name, compute,
      chosen ? "target " + chosen->target.name +
                   (note.empty() ? "" : " (" + note + ")")
             : note);
  return {};
}

Status describeCuda(Report &report) {
  DECANT_ASSIGN(const auto driver, loadCudaDriver());
  const std::string version = cudaVersionText(cudaDriverVersion(*driver));
  report.json["cuda"] = {{"driver", version}};
  report.text += fmt::format("cuda       driver for CUDA {}\n", version);
  DECANT_ASSIGN(const int count, cudaDeviceCount(*driver));
  for (int ordinal = 0; ordinal < count; ++ordinal)
    if (Status status = describeDevice(driver, ordinal, report); !status.ok())
      report.text += fmt::format("cuda:{:<5} {}\n", ordinal, status.message());
  return {};
}

Expected<Report> runEnv() {
  Report report;
  std::vector<std::string> targets;
  for (const TargetInfo &target : knownTargets())
    targets.push_back(target.name);
  report.json["version"] = compilerVersion();
  report.json["host_cpu"] = hostCpuName();
  report.json["targets"] = targets;
  report.json["devices"] = Json::array();
  report.json["devices"].push_back(
      {{"device", "cpu"}, {"name", hostCpuName()}, {"target", "x86-64"}});
  report.text =
      fmt::format("version    {}\ntargets    {}\ncpu        {}\n",
                  compilerVersion(), fmt::join(targets, ", "), hostCpuName());
  if (Status status = describeCuda(report); !status.ok()) {
    report.json["cuda"]["reason"] = status.message();
    report.text += fmt::format("cuda       none: {}\n", status.message());
  }
  describeCache(report);
  const std::string ptxas = findPtxas();
  report.json["ptxas"] = ptxas.empty() ? Json() : Json(ptxas);
  report.text +=
      fmt::format("ptxas      {}\n",
                  ptxas.empty() ? "none on PATH; only inspect uses it" : ptxas);
  report.json["variables"] = Json::object();
  for (const char *name : kVariables) {
    const char *value = std::getenv(name);
    report.json["variables"][name] = value ? Json(value) : Json();
    report.text += fmt::format("{}={}\n", name, value ? value : "(not set)");
  }
  return report;
}

} // namespace

Command decant::tool::addEnv(CLI::App &root) {
  CLI::App *app = root.add_subcommand(
      "env", "Show version, targets, devices, cache folder and variables");
  return {app, [](const Invocation &) { return runEnv(); }};
}
