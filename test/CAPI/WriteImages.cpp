//===- WriteImages.cpp - image files for the C program --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../unit/Runtime/TestPack.h"

#include <cstdio>
#include <fstream>

// write_images FOLDER: decode.decant, transfer.decant, test.pack, and damaged
// ones.
int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::string folder = std::string(argv[1]) + "/";
  auto write = [&](const char *name, const std::string &bytes) {
    std::ofstream(folder + name, std::ios::binary) << bytes;
  };
  std::string decode = decant::serialize(decant::test::decodeImage(8));
  write("decode.decant", decode);
  write("transfer.decant", decant::serialize(decant::test::transferImage(8)));
  write("cut.decant", decode.substr(0, decode.size() / 2));
  decode[decode.size() / 2] = char(decode[decode.size() / 2] ^ 1);
  write("flipped.decant", decode);
  write("text.decant",
        "a text file, and no image at all, whatever it is called");

  std::string pack = decant::test::testPackBytes();
  write("test.pack", pack);
  write("cut.pack", pack.substr(0, pack.size() / 2));
  // Of the last blob, which is the header of the last variant.
  pack.back() = char(pack.back() ^ 1);
  write("flipped.pack", pack);
  return 0;
}
