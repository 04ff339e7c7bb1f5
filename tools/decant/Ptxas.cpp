//===- Ptxas.cpp - registers and spills, from an installed ptxas ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>
#include <regex>

using namespace decant;
using namespace decant::tool;

namespace {

/// A file that goes with its scope.
class TemporaryFile {
public:
  static Expected<TemporaryFile> create(const char *suffix) {
    llvm::SmallString<128> path;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("decant", suffix, path))
      return Status::failed(
          fmt::format("cannot make a temporary file: {}", error.message()));
    return TemporaryFile(path.str().str());
  }
  TemporaryFile(TemporaryFile &&) = default;

  const std::string &path() const { return name; }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(name);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

private:
  explicit TemporaryFile(std::string path) : name(path), remover(name) {}
  std::string name;
  llvm::FileRemover remover;
};

} // namespace

std::string decant::tool::findPtxas() {
  const llvm::ErrorOr<std::string> found =
      llvm::sys::findProgramByName("ptxas");
  return found ? *found : "";
}

/// Runs the assembler into `output`; what it printed.
static Expected<std::string> assemble(const std::string &program,
                                      const std::string &ptx,
                                      const std::string &arch,
                                      const std::string &output) {
  DECANT_ASSIGN(const TemporaryFile source, TemporaryFile::create("ptx"));
  DECANT_ASSIGN(const TemporaryFile report, TemporaryFile::create("txt"));
  std::error_code error;
  llvm::raw_fd_ostream stream(source.path(), error);
  if (!error) {
    stream << ptx;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return Status::failed(
        fmt::format("{}: cannot write: {}", source.path(), error.message()));
  const std::string target = "-arch=" + arch;
  const llvm::StringRef arguments[] = {program,       "-v", target,
                                       source.path(), "-o", output};
  const std::optional<llvm::StringRef> redirects[] = {
      std::nullopt, llvm::StringRef(report.path()),
      llvm::StringRef(report.path())};
  std::string problem;
  const int code = llvm::sys::ExecuteAndWait(
      program, arguments, /*Env=*/std::nullopt, redirects, 0, 0, &problem);
  std::string text = report.read();
  if (code != 0)
    return Status::failed(fmt::format(
        "{} does not assemble the code for {}: {}", program, arch,
        llvm::StringRef(problem.empty() ? text : problem).trim().str()));
  return text;
}

Expected<std::vector<PtxasKernel>>
decant::tool::runPtxas(const std::string &program, const std::string &ptx,
                       const std::string &arch) {
  DECANT_ASSIGN(const std::string text,
                assemble(program, ptx, arch, "/dev/null"));
  return parsePtxasReport(text);
}

Expected<std::string> decant::tool::assembleCubin(const std::string &program,
                                                  const std::string &ptx,
                                                  const std::string &arch) {
  DECANT_ASSIGN(const TemporaryFile code, TemporaryFile::create("cubin"));
  DECANT_TRY(assemble(program, ptx, arch, code.path()).status());
  std::string bytes = code.read();
  if (bytes.empty())
    return Status::failed(
        fmt::format("{} left no machine code for {}", program, arch));
  return bytes;
}

Expected<KernelImage> decant::tool::assembled(const std::string &program,
                                              const KernelImage &image) {
  KernelImage result = image;
  result.kind = CodeKind::Cubin;
  result.ptxIsa = 0;
  DECANT_ASSIGN(result.code, assembleCubin(program, image.code, image.target));
  return result;
}

Expected<KernelImage> Assembler::assemble(const KernelImage &image) {
  {
    std::lock_guard<std::mutex> guard(mutex);
    const auto known = done.find(image.code);
    if (known != done.end())
      return known->second;
  }
  DECANT_ASSIGN(KernelImage result, assembled(program, image));
  std::lock_guard<std::mutex> guard(mutex);
  return done.emplace(image.code, std::move(result)).first->second;
}

std::vector<PtxasKernel>
decant::tool::parsePtxasReport(const std::string &text) {
  static const std::regex entry("Compiling entry function '([^']*)'");
  static const std::regex frame("([0-9]+) bytes stack frame, ([0-9]+) bytes "
                                "spill stores, ([0-9]+) bytes spill loads");
  static const std::regex registers("Used ([0-9]+) registers");
  static const std::regex shared("([0-9]+) bytes smem");
  std::vector<PtxasKernel> kernels;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, entry)) {
      kernels.push_back({match[1]});
    } else if (kernels.empty()) {
      continue;
    } else if (std::regex_search(line, match, frame)) {
      // Functions that a kernel calls follow it.
      kernels.back().stackBytes += std::stoi(match[1]);
      kernels.back().spillStores += std::stoi(match[2]);
      kernels.back().spillLoads += std::stoi(match[3]);
    } else if (std::regex_search(line, match, registers)) {
      kernels.back().registers = std::stoi(match[1]);
      if (std::regex_search(line, match, shared))
        kernels.back().sharedBytes = std::stoi(match[1]);
    }
  }
  return kernels;
}
