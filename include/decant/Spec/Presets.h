//===- Presets.h - specs and rules that come with Decant --------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The files of presets/ are built into the library, so that a preset needs no
// file system and cannot differ from the compiler that reads it.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_SPEC_PRESETS_H
#define DECANT_SPEC_PRESETS_H

#include "decant/Core/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace decant {

/// Rule: a .mlir file with one decant.rule. Method: a state format with its
/// window, the part of a spec that is the same for every model. Model: a
/// complete spec.
enum class PresetKind { Rule, Method, Model };
const char *toString(PresetKind kind);

struct PresetFile {
  PresetKind kind;
  std::string_view name; // the file's name without its ending
  std::string_view text;
};
/// Every embedded file, by kind and then name.
std::vector<PresetFile> presetFiles();

/// Tuning records that come along, which no spec names.
struct EmbeddedFile {
  std::string_view name, text;
};
std::vector<EmbeddedFile> embeddedRecords();

struct PresetInfo {
  PresetKind kind = PresetKind::Rule;
  std::string name;
  std::string description; // one line
};
std::vector<PresetInfo> listPresets();

/// The text of a preset, or an error that lists the ones of that kind.
Expected<std::string> presetText(PresetKind kind, const std::string &name);

} // namespace decant

#endif // DECANT_SPEC_PRESETS_H
