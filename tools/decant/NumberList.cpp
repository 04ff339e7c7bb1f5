//===- NumberList.cpp - numbers on the command line -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumberList.h"

#include <charconv>
#include <fmt/format.h>

using namespace decant;

Expected<std::vector<int64_t>>
decant::tool::parseNumberList(const std::string &option,
                              const std::string &text, int64_t most) {
  std::vector<int64_t> numbers;
  const char *next = text.data(), *const end = next + text.size();
  while (true) {
    int64_t number = 0;
    const auto [rest, error] = std::from_chars(next, end, number);
    if (error != std::errc() || number < 1 || number > most ||
        (rest != end && *rest != ','))
      return Status::invalid(
          fmt::format("{}: found \"{}\"; allowed are numbers from 1 to {} with "
                      "commas between them",
                      option, text, most));
    numbers.push_back(number);
    if (rest == end)
      return numbers;
    next = rest + 1;
  }
}
