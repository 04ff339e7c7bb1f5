//===- Spec.cpp - specs, presets and texts in C ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

using namespace decant;
using namespace decant::capi;

Status capi::giveText(const std::string &text, char **result) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    return Status::failed(
        fmt::format("out of memory for a text of {} bytes", text.size()));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *result = copy;
  return {};
}

namespace {

struct Preset {
  PresetKind kind;
  std::string name, description, text;
};

/// Embedded files do not change, so one copy with terminated texts serves all.
const std::vector<Preset> &presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> list;
    const std::vector<PresetInfo> infos = listPresets();
    for (const PresetFile &file : presetFiles()) {
      Preset preset{file.kind, std::string(file.name), "",
                    std::string(file.text)};
      for (const PresetInfo &info : infos)
        if (info.kind == preset.kind && info.name == preset.name)
          preset.description = info.description;
      list.push_back(std::move(preset));
    }
    return list;
  }();
  return all;
}

DecantPresetKind kindOf(PresetKind kind) {
  switch (kind) {
  case PresetKind::Rule:
    return DECANT_PRESET_RULE;
  case PresetKind::Method:
    return DECANT_PRESET_METHOD;
  case PresetKind::Model:
    return DECANT_PRESET_MODEL;
  }
  return DECANT_PRESET_RULE;
}

Expected<std::vector<std::string>> copyOverrides(const char *const *overrides,
                                                 size_t count) {
  std::vector<std::string> copies;
  if (count > 0 && !overrides)
    return Status::invalid(fmt::format("argument \"overrides\" is null and "
                                       "override_count is {}; 0 is allowed",
                                       count));
  for (size_t i = 0; i < count; ++i) {
    if (!overrides[i])
      return nullArgument(fmt::format("overrides[{}]", i).c_str());
    copies.emplace_back(overrides[i]);
  }
  return copies;
}

Status makeHandle(Expected<DecodeSpec> read, DecantSpec **result) {
  DECANT_TRY(read.status());
  *result = new DecantSpec{read.take()};
  return {};
}

} // namespace

extern "C" {

const char *decantVersion(void) {
  static const std::string version = compilerVersion();
  return version.c_str();
}

void decantTextDestroy(char *text) { std::free(text); }

DecantStatus decantPresetGetCount(int32_t *count) {
  return guarded([&]() -> Status {
    if (!count)
      return nullArgument("count");
    *count = int32_t(presets().size());
    return {};
  });
}

DecantStatus decantPresetGet(int32_t index, DecantPresetInfo *info) {
  return guarded([&]() -> Status {
    const std::vector<Preset> &all = presets();
    if (index < 0 || size_t(index) >= all.size())
      return Status::invalid(
          fmt::format("argument \"index\" is {}; 0 to {} are allowed", index,
                      all.size() - 1));
    const Preset &preset = all[size_t(index)];
    DecantPresetInfo values = {};
    values.kind = kindOf(preset.kind);
    values.name = preset.name.c_str();
    values.description = preset.description.c_str();
    values.text = preset.text.c_str();
    return writeSized("info", values, info);
  });
}

DecantStatus decantSpecReadFile(const char *spec, const char *const *overrides,
                                size_t override_count, DecantSpec **result) {
  return guarded([&]() -> Status {
    if (!result)
      return nullArgument("result");
    *result = nullptr;
    if (!spec)
      return nullArgument("spec");
    SpecSource source;
    source.spec = spec;
    DECANT_ASSIGN(source.overrides, copyOverrides(overrides, override_count));
    return makeHandle(readSpec(source), result);
  });
}

DecantStatus decantSpecReadText(const char *text, const char *folder,
                                const char *const *overrides,
                                size_t override_count, DecantSpec **result) {
  return guarded([&]() -> Status {
    if (!result)
      return nullArgument("result");
    *result = nullptr;
    if (!text)
      return nullArgument("text");
    SpecText source;
    source.text = text;
    source.directory = folder ? folder : "";
    DECANT_ASSIGN(const std::vector<std::string> copies,
                  copyOverrides(overrides, override_count));
    return makeHandle(readSpecText(source, copies), result);
  });
}

void decantSpecDestroy(DecantSpec *spec) { delete spec; }

DecantStatus decantSpecToJson(const DecantSpec *spec, char **text) {
  return guarded([&]() -> Status {
    if (!text)
      return nullArgument("text");
    *text = nullptr;
    if (!spec)
      return nullArgument("spec");
    return giveText(specToJson(spec->spec), text);
  });
}

DecantStatus decantSpecToKey(const DecantSpec *spec, char **text) {
  return guarded([&]() -> Status {
    if (!text)
      return nullArgument("text");
    *text = nullptr;
    if (!spec)
      return nullArgument("spec");
    return giveText(canonicalText(spec->spec), text);
  });
}

} // extern "C"
