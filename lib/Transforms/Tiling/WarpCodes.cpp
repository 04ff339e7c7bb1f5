//===- WarpCodes.cpp - codes in the order of fragments --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpTile.h"

using namespace mlir;
using namespace decant;

static constexpr int kWordBytes = 4;
static constexpr int kCodesPerTile = 8; // of one lane
static constexpr int kWideBits = 32, kWidePerChunk = 4;

View WarpTile::codeBytes(Value pool, Value head) {
  const int64_t bits = elementBits(layout.codes.type);
  const ElementType type = bits >= 16 ? layout.codes.type : ElementType::I8;
  const Region flat{layout.codes.offset, type, 1,
                    int64_t(layout.paddedKey) * layout.paddedValue * bits /
                        elementBits(type)};
  return t.view(pool, head, flat);
}

bool WarpTile::hasPlanes() const { return codePlanes(layout).size() > 1; }

/// A plane's part of one lane, `bytes` of it, as words: fewer are the lowest
/// bytes of one.
SmallVector<Value> WarpTile::loadWords(const View &codes, Value at,
                                       int64_t bytes) {
  auto type = VectorType::get({bytes}, b.getI8Type());
  Value loaded =
      vector::LoadOp::create(b, type, codes.memref, ValueRange{t.index(0), at},
                             false, llvm::MaybeAlign(bytes));
  const int64_t width = std::min<int64_t>(bytes, kWordBytes);
  auto words = VectorType::get({bytes / width}, b.getIntegerType(width * 8));
  Value wide = vector::BitCastOp::create(b, words, loaded);
  SmallVector<Value> result;
  for (int64_t i = 0; i < bytes / width; ++i) {
    Value word = vector::ExtractOp::create(b, wide, i);
    result.push_back(width == kWordBytes
                         ? word
                         : arith::ExtUIOp::create(b, b.getI32Type(), word));
  }
  return result;
}

/// Tiles of both planes, as words: the low plane's come first.
Value WarpTile::loadPlanes(const View &codes, Value firstTile, int64_t tiles) {
  SmallVector<Value> words;
  for (const CodePlane &plane : codePlanes(layout)) {
    Value at =
        t.add(t.mul(firstTile, t.index(plane.bits)), t.index(plane.offset));
    words.append(loadWords(codes, at, tiles * plane.bits));
  }
  return vector::FromElementsOp::create(
      b, VectorType::get({int64_t(words.size())}, b.getI32Type()), words);
}

/// The n-th of `tiles` tiles that loadPlanes() has brought.
Value WarpTile::unpackPlanes(Value words, int64_t tiles, int n, bool biased) {
  const int64_t bits = elementBits(layout.codes.type);
  int64_t first = 0;
  SmallVector<Value> own;
  for (const CodePlane &plane : codePlanes(layout)) {
    own.push_back(vector::ExtractOp::create(
        b, words, first + n * plane.bits / kWordBytes));
    first += llvm::divideCeil(tiles * plane.bits, kWordBytes);
  }
  return UnpackPlanesOp::create(
      b, VectorType::get({kCodesPerTile}, b.getF16Type()), own[0], own[1], n,
      bits, biased);
}

void WarpTile::storePlanes(const View &codes, Value firstTile,
                           ArrayRef<Value> tiles, Value scale) {
  const int64_t bits = elementBits(layout.codes.type);
  SmallVector<Value> packed[2];
  for (Value tile : tiles) {
    auto planes = PackPlanesOp::create(b, b.getI32Type(), b.getI32Type(), tile,
                                       scale, bits);
    packed[0].push_back(planes.getLow());
    packed[1].push_back(planes.getHigh());
  }
  for (auto [fields, plane] : llvm::zip(packed, codePlanes(layout))) {
    SmallVector<Value> words;
    for (auto [n, field] : llvm::enumerate(fields)) {
      const int64_t inWord = n * plane.bits % kWordBytes;
      if (inWord == 0) {
        words.push_back(field);
        continue;
      }
      Value moved = arith::ShLIOp::create(
          b, field, arith::ConstantIntOp::create(b, inWord * 8, 32));
      words.back() = arith::OrIOp::create(b, words.back(), moved);
    }
    const int64_t bytes = int64_t(tiles.size()) * plane.bits;
    Type word = b.getIntegerType(std::min<int64_t>(bytes, kWordBytes) * 8);
    if (bytes < kWordBytes)
      words[0] = arith::TruncIOp::create(b, word, words[0]);
    Value all = vector::FromElementsOp::create(
        b, VectorType::get({int64_t(words.size())}, word), words);
    all = vector::BitCastOp::create(b, VectorType::get({bytes}, b.getI8Type()),
                                    all);
    Value at =
        t.add(t.mul(firstTile, t.index(plane.bits)), t.index(plane.offset));
    vector::StoreOp::create(b, all, codes.memref, ValueRange{t.index(0), at},
                            false, llvm::MaybeAlign(bytes));
  }
}

/// The number of a lane's first tile of a chunk among the tiles of all lanes.
Value WarpTile::firstTileOf(Value valueTile, Value chunk) {
  Value row = t.add(t.mul(valueTile, t.index(chunks)), chunk);
  return t.mul(t.add(t.mul(row, t.index(32)), t.keyLane),
               t.index(tilesPerChunk));
}

Value WarpTile::loadTile(const View &codes, Value valueTile, Value keyTile) {
  Value inChunk = t.index(0), chunk = keyTile;
  if (tilesPerChunk > 1) {
    Value count = t.index(tilesPerChunk);
    chunk = arith::DivUIOp::create(b, keyTile, count);
    inChunk = arith::RemUIOp::create(b, keyTile, count);
  }
  Value row = t.add(t.mul(valueTile, t.index(chunks)), chunk);
  Value lane = t.add(t.mul(row, t.index(32)), t.keyLane);
  if (hasPlanes())
    return loadPlanes(codes,
                      t.add(t.mul(lane, t.index(tilesPerChunk)), inChunk), 1);
  Value at = t.mul(t.add(t.mul(lane, t.index(tilesPerChunk)), inChunk),
                   t.index(tileWidth()));
  return vector::LoadOp::create(
      b,
      VectorType::get(
          {tileWidth()},
          cast<MemRefType>(codes.memref.getType()).getElementType()),
      codes.memref, ValueRange{t.index(0), at}, false,
      llvm::MaybeAlign(elementBits(layout.codes.type)));
}

int64_t WarpTile::tileWidth() const {
  const int64_t bits = elementBits(layout.codes.type);
  return bits == kWideBits ? kWidePerChunk : bits == 16 ? kCodesPerTile : bits;
}

int64_t WarpTile::chunkWidth() const { return tileWidth() * tilesPerChunk; }

Value WarpTile::chunkPlace(Value valueTile, Value chunk) {
  Value row = t.add(t.mul(valueTile, t.index(chunks)), chunk);
  return t.mul(t.add(t.mul(row, t.index(32)), t.keyLane),
               t.index(chunkWidth()));
}

Value WarpTile::loadChunk(const View &codes, Value valueTile, Value chunk) {
  if (hasPlanes())
    return loadPlanes(codes, firstTileOf(valueTile, chunk), tilesPerChunk);
  return vector::LoadOp::create(
      b,
      VectorType::get(
          {chunkWidth()},
          cast<MemRefType>(codes.memref.getType()).getElementType()),
      codes.memref, ValueRange{t.index(0), chunkPlace(valueTile, chunk)}, false,
      llvm::MaybeAlign(isWide()
                           ? kLoadBytes
                           : elementBits(layout.codes.type) * tilesPerChunk));
}

void WarpTile::storeChunk(const View &codes, Value valueTile, Value chunk,
                          ArrayRef<Value> tiles, Value scale) {
  if (hasPlanes())
    return storePlanes(codes, firstTileOf(valueTile, chunk), tiles, scale);
  SmallVector<Value> parts;
  for (Value tile : tiles) {
    if (elementBits(layout.codes.type) == 16)
      parts.push_back(t.narrow(tile, layout.codes.type));
    else
      parts.push_back(PackCodesOp::create(
          b, VectorType::get({elementBits(layout.codes.type)}, b.getI8Type()),
          tile, scale));
  }
  while (parts.size() > 1) {
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = join(parts[2 * i], parts[2 * i + 1]);
    parts.resize(parts.size() / 2);
  }
  vector::StoreOp::create(
      b, parts[0], codes.memref,
      ValueRange{t.index(0), chunkPlace(valueTile, chunk)}, false,
      llvm::MaybeAlign(elementBits(layout.codes.type) * tilesPerChunk));
}

double WarpTile::codeUnit() const {
  return elementBits(layout.codes.type) == 16 ? 1 : 0x1p-24;
}

double WarpTile::codeBias() const {
  const int64_t bits = elementBits(layout.codes.type);
  return bits == 16 ? 0 : double(1 << (bits - 1)) * codeUnit();
}

Value WarpTile::codesMma(Value chunk, int n, bool transpose, Value right,
                         Value sum) {
  Value tile = tileOf(chunk, n, /*biased=*/true);
  return mma(transpose ? transposed(tile) : tile, right, sum);
}

Value WarpTile::biasMma(Value right, Value sum) {
  if (codeBias() == 0)
    return sum;
  auto type = VectorType::get({kCodesPerTile}, b.getF16Type());
  Value bias = arith::ConstantOp::create(
      b,
      DenseElementsAttr::get(type, b.getF16FloatAttr(-codeBias()).getValue()));
  return mma(bias, right, sum);
}

Value WarpTile::tileOf(Value chunk, int n, bool biased) {
  if (hasPlanes())
    return unpackPlanes(chunk, tilesPerChunk, n, biased);
  const int64_t width = tileWidth();
  return unpack(tilesPerChunk == 1 ? chunk : slice(chunk, n * width, width),
                biased);
}

Value WarpTile::unpack(Value tile, bool biased) {
  if (hasPlanes())
    return unpackPlanes(tile, 1, 0, biased);
  if (elementBits(layout.codes.type) == 16)
    return tile;
  return UnpackCodesOp::create(
      b, VectorType::get({kCodesPerTile}, b.getF16Type()), tile, biased);
}
