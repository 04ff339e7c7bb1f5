//===- SpecReader.h - from a spec file to a DecodeSpec ----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a spec file or a preset's name, and overrides. Out: a complete
// DecodeSpec, or one paragraph that names file, preset or override, the JSON
// path, what was found and what is allowed.
//
// Three layers make a spec, the later one wins field by field (an array is
// replaced whole):
//
//   method preset ("preset": "leapquant-int8") < spec file < overrides
//
// A field that has a meaning only under some values of another one (scales
// under int8 codes, lower_bound under decay lower_bound, norm_eps under an L2
// norm) is dropped when a later layer changes that other field to a value
// without use for it. So `--set state.codes=f32` works on an int8 spec, while
// scales beside float codes in one file are an error.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_SPEC_SPECREADER_H
#define DECANT_SPEC_SPECREADER_H

#include "decant/Core/DecodeSpec.h"

#include <string>
#include <vector>

namespace decant {

struct SpecSource {
  /// The name of a model or method preset, or a file. A preset wins over a
  /// file of the same name; a name with a slash or ending in .json is a file.
  std::string spec;
  /// "path=value" each, in order: a dotted path, with indices for array
  /// elements ("state.scale.0.fit"); a value that is not JSON is a string.
  std::vector<std::string> overrides;
  /// The caller brings the plan: none is read, and its lack is no mistake.
  bool planToCome = false;
};

/// A rule file is looked for beside the spec file that names it; one that an
/// override names, in the working directory.
Expected<DecodeSpec> readSpec(const SpecSource &source);

/// A spec that is in memory already.
struct SpecText {
  std::string label = "spec"; // stands for the file's name in messages
  std::string text;
  std::string directory; // where rule files are looked for; "" is the current
};
Expected<DecodeSpec>
readSpecText(const SpecText &source,
             const std::vector<std::string> &overrides = {});

/// A sound `spec` with every field written out and the rule inside, as JSON
/// that reads back as an equal spec.
std::string specToJson(const DecodeSpec &spec);

/// The JSON Schema (draft 2020-12) of spec files, for editors. Made from the
/// table that the reader itself works from; presets/schema.json is its text.
std::string specSchema();

} // namespace decant

#endif // DECANT_SPEC_SPECREADER_H
