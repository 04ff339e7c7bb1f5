//===- Compile.cpp - images and stages in C -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "ImageFile.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::capi;

namespace {

Expected<CompileOptions> convert(const DecantCompileOptions *given) {
  DecantCompileOptions options;
  DECANT_TRY(readSized("options", given, options));
  if (!options.target)
    return nullArgument("options.target");
  CompileOptions result;
  DECANT_ASSIGN(result.target, lookupTarget(options.target));
  if (options.schedule) {
    DECANT_ASSIGN(result.schedule, parseSchedule(options.schedule));
  }
  switch (options.kernels) {
  case DECANT_KERNELS_DECODE:
    result.kernels = KernelSet::Decode;
    return result;
  case DECANT_KERNELS_TRANSFER:
    result.kernels = KernelSet::Transfer;
    return result;
  }
  return Status::invalid(fmt::format(
      "argument \"options.kernels\" is {}; DECANT_KERNELS_DECODE ({}) and "
      "DECANT_KERNELS_TRANSFER ({}) are allowed",
      options.kernels, int(DECANT_KERNELS_DECODE),
      int(DECANT_KERNELS_TRANSFER)));
}

Expected<Stage> stageNamed(const std::string &name) {
  std::string names;
  for (Stage stage : allStages()) {
    if (name == toString(stage))
      return stage;
    names += (names.empty() ? "" : ", ") + std::string(toString(stage));
  }
  return Status::invalid(
      fmt::format("argument \"stage\" is \"{}\"; allowed are {}", name, names));
}

} // namespace

extern "C" {

DecantStatus decantCompile(const DecantSpec *spec,
                           const DecantCompileOptions *options,
                           DecantImage **image) {
  return guarded([&]() -> Status {
    if (!image)
      return nullArgument("image");
    *image = nullptr;
    if (!spec)
      return nullArgument("spec");
    DECANT_ASSIGN(const CompileOptions converted, convert(options));
    DECANT_ASSIGN(KernelImage made, compile(spec->spec, converted));
    *image =
        new DecantImage{std::make_shared<const KernelImage>(std::move(made))};
    return {};
  });
}

DecantStatus decantImageSaveFile(const DecantImage *image, const char *path) {
  return guarded([&]() -> Status {
    if (!image)
      return nullArgument("image");
    if (!path)
      return nullArgument("path");
    return saveImage(*image->image, path);
  });
}

DecantStatus decantEmit(const DecantSpec *spec,
                        const DecantCompileOptions *options, const char *stage,
                        char **text) {
  return guarded([&]() -> Status {
    if (!text)
      return nullArgument("text");
    *text = nullptr;
    if (!spec)
      return nullArgument("spec");
    if (!stage)
      return nullArgument("stage");
    DECANT_ASSIGN(const CompileOptions converted, convert(options));
    DECANT_ASSIGN(const Stage after, stageNamed(stage));
    DECANT_ASSIGN(const std::string made, emit(spec->spec, converted, after));
    return giveText(made, text);
  });
}

} // extern "C"
