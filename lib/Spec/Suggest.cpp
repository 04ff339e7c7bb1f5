//===- Suggest.cpp - the word that was probably meant ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a word and the words that are known. Out: text for a message.
//
//===----------------------------------------------------------------------===//
#include "Suggest.h"

#include <algorithm>

namespace decant::spec {

// A longer word cannot be a typo of any field, and the table is quadratic.
static constexpr size_t kMaxWord = 64;

/// Insertions, removals and replacements that turn `a` into `b`.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string didYouMean(const std::string &found,
                       const std::vector<std::string> &words) {
  if (found.size() > kMaxWord)
    return "";
  const std::string *best = nullptr;
  size_t bestDistance = std::max<size_t>(1, found.size() / 3) + 1;
  for (const std::string &word : words) {
    // A beginning counts as one edit: "leapquant" means "leapquant-int8".
    bool begins = found.size() > 2 && word.compare(0, found.size(), found) == 0;
    size_t distance = begins ? 1 : editDistance(found, word);
    if (distance < bestDistance) {
      best = &word;
      bestDistance = distance;
    }
  }
  return best ? " (did you mean \"" + *best + "\"?)" : "";
}

std::string join(const std::vector<std::string> &words,
                 const std::string &last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0)
      text += i + 1 == words.size() ? " " + last + " " : ", ";
    text += words[i];
  }
  return text;
}

} // namespace decant::spec
