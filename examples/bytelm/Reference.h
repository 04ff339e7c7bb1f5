//===- Reference.h - what the model says with an fp32 state -----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The logits that every spec is compared with, of streams of bytes, with the
// engine's own recurrence. A file keeps them for the next spec:
//
//     magic, 16 bytes | model, streams: u64 fingerprints | rows, tokens: u32
//     logits, f32 [tokens, rows, 256]
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_REFERENCE_H
#define BYTELM_REFERENCE_H

#include "Network.h"

#include <fstream>

namespace bytelm {

/// The first tokens of some sequences.
struct Streams {
  /// [tokens, rows], and the row that follows where the file has one.
  std::vector<uint8_t> bytes;
  int rows = 0, tokens = 0;
  uint64_t fingerprint = 0; // of the whole file
};

/// Reads 16 sequences of equal length and keeps `rows` of them, from the one
/// numbered `first` on, `tokens` of each. Throws InputError.
Streams readStreams(const std::string &path, int rows, int tokens,
                    int first = 0);

class Reference {
public:
  /// `file` may be empty: nothing is kept. A file of the same model and streams
  /// with as many rows and tokens or more is read, one with fewer is replaced.
  Reference(const Model &model, const Streams &streams, const std::string &file,
            int threads);
  ~Reference();

  /// Logits of the next `tokens` tokens, [tokens * rows, 256].
  const Matrix &next(int tokens);
  /// Gives a computed file its name, after the last token.
  void finish();
  bool isFromFile() const { return storedRows > 0; }

private:
  /// Whether `file` has what is wanted.
  bool open();

  const Model &model;
  const Streams &streams;
  std::string file, unfinished;
  std::unique_ptr<Network> network; // null: from the file
  std::fstream stored;
  int storedRows = 0;
  int at = 0; // the next token
  Matrix logits;
};

} // namespace bytelm

#endif // BYTELM_REFERENCE_H
