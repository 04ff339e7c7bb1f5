//===- HostKernels.cpp - CUDA C++ compiled for the host -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostKernels.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <stdexcept>

using namespace decant::test;

HostKernels::HostKernels(const std::vector<Text> &texts) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "decant-cuda-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    throw std::runtime_error("cannot make " + folder);
  std::ofstream file(folder + "/all.cpp");
  file << "#include \"" HOST_CUDA_HEADER "\"\n";
  // Every text has the same names; a namespace of its own holds all but the
  // kernel, which is extern "C".
  for (const Text &text : texts)
    file << fmt::format("#define DECANT_REAL {0}\n"
                        "#define decant_rule kernel_{1}\n"
                        "namespace text_{1} {{\n{2}}}\n"
                        "#undef decant_rule\n#undef DECANT_REAL\n"
                        "extern \"C\" void {1}(unsigned blocks, unsigned "
                        "threads, void *const *args) {{\n"
                        "  launchOnHost(text_{1}::kernel_{1}, blocks, threads, "
                        "args);\n}}\n",
                        text.real, text.name, text.text);
  file.close();
  // Without contraction, as NVRTC compiles it for a device.
  const std::string command = fmt::format(
      "{0} -std=c++17 -O1 -ffp-contract=off -Wall -Werror -Wno-unused -shared "
      "-fPIC -pthread {1}/all.cpp -o {1}/all.so",
      HOST_CXX, folder);
  if (std::system(command.c_str()) == 0)
    library = dlopen((folder + "/all.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove_all(folder);
  if (!library)
    throw std::runtime_error("cannot compile and open: " + command);
}

HostKernels::Launch HostKernels::find(const std::string &name) const {
  const auto launch = reinterpret_cast<Launch>(dlsym(library, name.c_str()));
  if (!launch)
    throw std::runtime_error("no text " + name);
  return launch;
}
