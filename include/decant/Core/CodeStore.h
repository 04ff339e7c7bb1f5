//===- CodeStore.h - where one code lies ------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SlotLayout.h draws the orders of codes; these functions are the same drawing
// as arithmetic, for hosts. A code is read and written one at a time.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_CODESTORE_H
#define DECANT_CORE_CODESTORE_H

#include "decant/Core/SlotLayout.h"

namespace decant {

/// Bits `firstBit` .. `firstBit` + `bits` of every code, stored together.
struct CodePlane {
  int bits = 0, firstBit = 0;
  int64_t offset = 0; // bytes from the start of the codes
};
/// The planes of the codes, lowest bits first. A code whose bits divide a byte
/// or are whole bytes has one.
std::vector<CodePlane> codePlanes(const SlotLayout &layout);

/// A key row of its own bits, in bytes from the start of the codes; `layout` is
/// that of its head alone, as for everything below.
int64_t rowOffset(const SlotLayout &layout, int key);
/// The planes of a row of `bits` bits, highest bits first, in bytes from its
/// start.
std::vector<CodePlane> rowPlanes(int bits, int64_t paddedValue);

/// Rows of one slab, see SlotLayout.h.
constexpr int kSlabRows = 16;
/// Whether rows of their own bits make whole slabs, in every head.
bool fillsSlabs(const SlotLayout &layout);
/// Where a key row lies among the slabs of its head, and the slab.
struct SlabPlace {
  int position = 0;   // of the row, in the order of the codes
  int bits = 0;       // of the slab's codes
  int64_t offset = 0; // of the slab, in bytes from the start of the codes
};
SlabPlace slabPlace(const SlotLayout &layout, int key);
/// The first bit of a lane's code `e` in a plane of `bits` bits.
int slabField(int bits, int e);

/// Key tiles that follow one another in a lane's chunk, in fragment order; the
/// planes of a code have as many.
int tilesPerChunk(const SlotLayout &layout);

/// A plane's part of one code: `bits` of the plane from bit `shift` of byte
/// `byte` of the head on.
struct CodePlace {
  int64_t byte = 0;
  int shift = 0;
};
CodePlace codePlace(const SlotLayout &layout, const CodePlane &plane, int key,
                    int value);

/// Reads and writes the codes of heads of one layout, which must outlive it.
/// Where they lie is looked up once.
class CodeTable {
public:
  explicit CodeTable(const SlotLayout &layout);

  /// The code of one element; key and value may be padding.
  double load(const uint8_t *head, int key, int value) const;
  /// Rounds as roundTo() does.
  void store(uint8_t *head, int key, int value, double code) const;

private:
  /// A row of its own bits: bytes from the head's start, and in slabs the place
  /// among the rows of one.
  struct Row {
    int64_t offset = 0;
    int inSlab = 0;
    std::vector<CodePlane> planes;
  };
  CodePlace placeOf(const CodePlane &plane, int key, int value) const;
  CodePlace placeInRow(const Row &row, const CodePlane &plane, int value) const;
  int loadField(const uint8_t *head, int key, int value) const;
  void storeField(uint8_t *head, int key, int value, int field) const;

  const SlotLayout &layout;
  std::vector<CodePlane> planes;
  std::vector<Row> rows; // empty where all codes have the bits of their type
  int tiles = 1;         // of a chunk, in fragments
};

/// One code, as CodeTable has it.
double loadCode(const SlotLayout &layout, const uint8_t *head, int key,
                int value);
void storeCode(const SlotLayout &layout, uint8_t *head, int key, int value,
               double code);

} // namespace decant

#endif // DECANT_CORE_CODESTORE_H
