//===- SlotLayout.h - the bytes of one sequence's state ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot holds everything that one layer remembers of one sequence; it holds
// no pointer and no slot number, so memcpy copies, forks and ships it. All-zero
// bytes are an empty sequence.
//
//   slot   | header 128 B | head 0 | head 1 | ...           headBytes each
//   header | u32 version | u32 fill | u64 tokens | u32 code order | u32 seed
//          | 0, 0 | u8 of each head ... | 0 ...
//                        for hosts; kernels write it, but for the seed of
//                        stochastic rounding, which they only read; the bytes
//                        are 0 between launches
//   head   | codes | scales | comp. keys | comp. values | comp. scale
//          | cursor | carried | total key decay | total value decay
//          | record key decay | record value decay | record keys
//          | record values |
//
// With several tokens per step a window ends with drafts: records and decays
// beyond the fill, as many as the cursor says. Accepting some moves the fill,
// and a step overwrites what was not accepted.
//
// Every region starts at a multiple of 16 bytes, heads and regions of 512
// bytes and more at one of 128. codes are [key, value] over
// the padded dims, in columns [value, key]; padding elements are zero. A code
// of b bits that do not make a whole byte is stored as planes (6 bits: the low
// 4, then the high 2; int3: its low 2, then its high 1), one after the other,
// each ordered alone. Small floats are bit patterns, sign first: e4m3 is seee
// efff, e2m1 two to a byte, e3m2 and e2m3 as planes:
//
//   bit of a 6-bit code    5    4  |  3    2    1    0
//   e3m2                   s    e  |  e    e    f    f
//   e2m3                   s    e  |  e    f    f    f
//   plane, codes a b c d   high, in one byte      low, in two bytes
//                          dd cc bb aa            bbbb aaaa, dddd cccc
//
// CodeOrder::Rows: row-major, codes that share a byte from its lowest bits on,
// integers in two's complement.
//
// CodeOrder::Columns: the rows of the transposed state, for floats only, that
// is for states that a step reads and writes whole. The keys of a value follow
// one another, so neighbouring lanes of a warp have neighbouring keys and form
// sums over keys among themselves; some values are one run of memory. 128 keys
// of f32, 16 bytes of a value per lane:
//
//   key         0 .. 3   4 .. 7   ...  124 .. 127
//   value 0   | lane 0 | lane 1 | ... | lane 31 |
//   value 1   | lane 0 | lane 1 | ... | lane 31 |
//   ...
//
// CodeOrder::Fragments: as the lanes of a warp hold S^T as operand A of a
// tensor-core product, tiles of 16 values x 16 keys:
//
//   key of tile   0   1   2   3   4   5   6   7 | 8   9    ...     14  15
//   value 0     |  lane 0 | lane 1 | lane 2 | 3 | lane 0 |   ...  | lane 3 |
//   value 1     |  lane 4 | lane 5 | lane 6 | 7 | lane 4 |   ...  | lane 7 |
//   ...
//   value 7     | lane 28 |        ...     | 31 | lane 28|   ...  | lane 31|
//   value 8..15 | as values 0..7
//
//   so lane l = 4 g + t has, in the order of its codes e = 0 .. 7,
//     e          0       1         2       3         4       5        6, 7
//     value      g       g         g + 8   g + 8     g       g        g + 8
//     key        2t      2t + 1    2t      2t + 1    2t + 8  2t + 9   ditto
//
//   and a lane's chunk is its codes of T tiles that follow one another along
//   the keys; T is the largest power of two that divides a row of tiles and
//   makes chunks of at most 16 bytes, one load (1 where a tile alone is more;
//   of planes, those of the lower bits count for both):
//
//   codes  | values 0..15                          | values 16..31 | ...
//          | tiles 0..T-1          | tiles T..2T-1 | ...
//          | lane 0 | lane 1 | ..  | ...
//   chunk  | tile 0, b bytes | tile 1 | .. | tile T-1 |
//   6 bits | chunks of the low planes, 4 T bytes each | of the high, 2 T each |
//
//   f32 takes two loads for a lane's part of a tile, and neighbouring lanes
//   load what lies side by side: half a tile is 8 keys, and all lanes' codes
//   e = 0 .. 3 come before their codes e = 4 .. 7:
//
//   f32    | values 0..15                                     | values 16..31 |
//          | keys 0..7              | keys 8..15             | ..
//          | lane 0, 16 B | lane 1  | lane 0, 16 B | lane 1  | ..
//
//   In a tile's b bytes, code e is element e; where b < 8, it is the field
//   e / 2 + 4 (e mod 2) from the lowest bits, which puts the codes of a pair of
//   keys 16 bits apart for 4 bits (and 8 bits apart for 2). Integers are stored
//   as code + 2^(bits - 1), unsigned. All-zero bytes are then the lowest code,
//   under scales of zero: still an empty sequence.
//
// Rows of different bits (in heads of different length): a plan
// gives each key row b = 2..8 bits, and each row is stored alone, as planes of
// its codes' bits, the highest bits first:
//
//   row   | bits  | 4 bits of each code | the next 4 | 2 | 1
//           of b  | b >= 4              | b = 8      | b & 2 | b & 1
//   head  | scales, compensators, cursor, ..., records | codes: row 0 | row 1 |
//
//   A plane is row-major as above, V/2, V/4 or V/8 bytes for V padded values,
//   so a row has b V/8. Row offsets are sums of the plan's bits: constants of
//   the compiled kernel, as are the heads' offsets. A code of b bits counts as
//   2^(8 - b) of those of int8.
//
//   A pivot is a row of 16 bits: V values of f16, whole, under no scale. Its
//   entry among the key scales is 1, and scales of groups leave it out:
//
//   row           0   1   2(pivot)   3   ...
//   group scales  0   1              2   ...      of rows that are no pivots
//
// The same in fragments, where a head's rows of equal bits make whole slabs of
// 16: slabs follow one another from the most bits to the fewest, and in each
// width the rows keep their order, which the codes alone have; scales, terms
// and decays lie by key as ever. A slab has the planes of a row, highest bits
// first, and a plane of w bits has a tile for each 16 values, w bytes a lane:
//
//   slab   | plane           | next plane | ..
//   plane  | values 0..15    | values 16..31 | ..
//          | lane 0 | lane 1 | ..
//
//   A lane's codes e are those of a tile, stored as code + 2^(b - 1), so that
//   bits moved to the top of a byte are what int8 has there. In w bytes, from
//   the lowest bit on:
//     w = 4   e = 0 4 1 5 2 6 3 7: masks make bytes of them
//     w = 2   e = 0 2 4 6 1 3 5 7
//     w = 1   e = 0 1 2 3 4 5 6 7
//
// CodeStore.h reads and writes single codes in any order.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_SLOTLAYOUT_H
#define DECANT_CORE_SLOTLAYOUT_H

#include "decant/Core/DecodeSpec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace decant {

/// How a decay acts along one axis of the state.
enum class DecayShape { None, Scalar, Vector };
const char *toString(DecayShape shape);

/// How the codes of a head are ordered; the picture above has them.
enum class CodeOrder { Rows, Fragments, Columns };
const char *toString(CodeOrder order);

/// What one token adds to the window; derived from the rule's IR.
struct RecordShape {
  int writes = 1; // rank-1 terms per token
  DecayShape keyDecay = DecayShape::None;
  DecayShape valueDecay = DecayShape::None;
  int carried = 0; // key vectors beside the state, which every token replaces
};

/// An array inside a head: `count` rows of `width` elements.
struct Region {
  int64_t offset = 0; // bytes from the head's start
  ElementType type = ElementType::F32;
  int64_t count = 0, width = 0;
  int64_t bytes() const { return (count * width * elementBits(type) + 7) / 8; }
  bool empty() const { return count * width == 0; }
};

constexpr uint32_t kSlotVersion = 5;
constexpr int64_t kSlotHeaderBytes = 128;
/// The header word that holds the code order: 0 rows, 1 fragments,
/// 2 columns.
constexpr int64_t kCodeOrderWord = 4;
/// The one that holds the seed of stochastic rounding. 0 in an empty slot; a
/// host may set it, and copies keep it.
constexpr int64_t kSeedWord = 5;
/// From here on a header has a byte for each head, which blocks of one launch
/// use among themselves; 0 otherwise.
constexpr int64_t kExchangeBytes = 32;
constexpr int64_t kSlotAlign = 16;
/// Heads and long regions start at lines of memory: a line that two of them
/// share is moved twice, and written in parts, which costs a read.
constexpr int64_t kLineBytes = 128;

struct SlotLayout {
  int valueHeads = 0;
  int keyDim = 0, valueDim = 0; // as in the spec
  int paddedKey = 0;            // a multiple of 8, in fragments of 16
  int paddedValue = 0;          // a multiple of 16
  int window = 1;               // tokens
  int compensators = 0;
  int tokensPerStep = 1; // of which the last ones may be drafts
  int compensatorRounds = 1;
  RecordShape record;
  std::vector<ScaleSpec> scales; // in the order in which they were fitted
  /// Of codes and compensators; records and decays are the state's own.
  Rotation rotation = Rotation::None;
  int rotationBlock = 0; // most elements of a matrix; 0: any
  Rounding rounding = Rounding::Nearest;
  /// Bits of the key rows [valueHeads, keyDim]; empty where all codes have
  /// those of their type. `codes` is then where they begin, as long as int8
  /// codes.
  std::vector<uint8_t> rowBits;
  PlanTables tables; // of the plan; known to kernels, not stored
  int firstHead = 0; // the number of the slot's first head: 0, but of ofHead()
  CodeOrder codeOrder = CodeOrder::Rows;

  Region codes;      // [paddedKey, paddedValue], or in columns the other way
  Region keyScale;   // [1, paddedKey], empty without a key-axis scale
  Region valueScale; // [1, paddedValue]
  Region headScale;  // [1, 1]
  /// Scales of groups, and what minmax adds to what they scale: of blocks of
  /// key rows [paddedKey, blocks], of value columns [blocks, paddedValue]; one
  /// block where rows or columns are not cut. Rows that are pivots have none:
  /// there are as many as the head with the fewest pivots has other rows.
  /// Static scales are not stored.
  Region groupScale, groupOffset;
  Region compKeys;   // f16, bf16, i8 or e4m3 [compensators, paddedKey]
  Region compValues; // the same [compensators, paddedValue]
  Region compScale;  // f32 [1, compensators], of keys times values; 8 bits only
  Region cursor;     // [1, 4] words: u32 fill, u32 drafts, u64 tokens; as f32
  Region carried;    // f32 [places() * carried vectors, paddedKey]
  Region totalKeyDecay; // f32 [places(), 1 or paddedKey]: product over window
  Region totalValueDecay;
  Region recordKeyDecay;   // [window, 1 or paddedKey]: each token's own decay
  Region recordValueDecay; // [window, 1 or paddedValue]
  Region recordKeys;       // [window * writes, paddedKey]
  Region recordValues;     // [window * writes, paddedValue]

  int64_t headBytes = 0; // of the longest head, where rows differ in bits
  int64_t slotBytes = 0;

  /// Places of a total decay and of carried vectors: place 0 belongs to the
  /// tokens that are accepted, place t to what t drafts behind them leave.
  int places() const { return tokensPerStep > 1 ? 1 + tokensPerStep : 1; }

  /// The scale of groups, null without one, and the elements that a group has
  /// along each axis; the last group of a line may have fewer.
  const ScaleSpec *groups() const;
  int groupKeys() const;
  int groupValues() const;
  /// Groups along each axis of a whole state: what a table of them has.
  int64_t groupRows() const;
  int64_t groupColumns() const;
  bool hasStaticScales() const;
  /// Whether integer codes go down to -2^(bits - 1): where there is an offset,
  /// or a scale that was not fitted to them.
  bool usesAllCodes() const {
    return !groupOffset.empty() || hasStaticScales();
  }
  bool rotatesKeys() const;
  bool rotatesValues() const;
  /// Elements of a Hadamard matrix along an axis of `dim`.
  int rotationOf(int dim) const {
    return decant::rotationBlock(dim, rotationBlock);
  }
  /// What the largest |E| over absmax scale `index` becomes. The last one maps
  /// it to the largest code, or, being a power of two, to between the power of
  /// two in the largest code and twice that (the microscaling rule). An earlier
  /// one evens out its axis only, unless the next is e4m3, whose whole range is
  /// then used.
  double largestOver(size_t index) const;
  bool hasPivots() const;
  /// Of the first head.
  bool isPivot(int key) const {
    return !rowBits.empty() && rowBits[key] == kPivotBits;
  }
  /// What the row weighs in fits, in the first head.
  double weightOf(int key) const {
    return tables.weights.empty() ? 1 : double(tables.weights[key]);
  }
  /// The row of the table of groups that a key row's groups have, where groups
  /// are of key rows; in the first head.
  int groupRowOf(int key) const;
  int64_t scaleBytes() const;

  /// Where a head begins, in bytes from the slot's start.
  int64_t headOffset(int head) const;
  /// Bytes of a head's codes.
  int64_t codeBytes(int head) const;
  /// The layout of one head as if it were the slot's only one; the same bytes
  /// without row bits.
  SlotLayout ofHead(int head) const;
  /// The largest code of a key row of the first head that is no pivot, in units
  /// of the codes' type: those of few bits end before it does.
  int reachOfRow(int key) const;

  /// Bytes of codes, scales, compensators and carried vectors of one head; the
  /// mean over heads, rounded up.
  int64_t stateBytesPerHead() const;
  /// Their bits per element of keyDim x valueDim, not rounded.
  double bitsPerElement() const;
  /// Every region with its name, in slot order; empty regions too.
  std::vector<std::pair<std::string, Region>> regions() const;
};

/// The layout for a spec whose rule has the given record shape. Windows of
/// length 1 have no records and no total decay.
SlotLayout makeSlotLayout(const DecodeSpec &spec, const RecordShape &record,
                          CodeOrder order = CodeOrder::Rows);

} // namespace decant

#endif // DECANT_CORE_SLOTLAYOUT_H
