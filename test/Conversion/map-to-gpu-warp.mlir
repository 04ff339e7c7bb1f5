// RUN: decant-opt %s --split-input-file --decant-map-to-gpu --cse | FileCheck %s

// What tensor cores, packed codes and copies become: lib/Conversion/WarpOps.cpp.

// A tile product is one instruction, m16n8k16; f16 operands are pairs.
// CHECK-LABEL: gpu.func @product(
// CHECK-SAME: %[[A:.*]]: vector<8xf16>, %[[B:.*]]: vector<4xf16>, %[[C:.*]]: vector<4xf32>,
// CHECK-DAG: %[[C0:.*]] = vector.extract %[[C]][0]
// CHECK-DAG: %[[C3:.*]] = vector.extract %[[C]][3]
// CHECK: %[[WORDS:.*]] = llvm.bitcast %[[A]] : vector<8xf16> to vector<4xi32>
// CHECK: %[[W0:.*]] = vector.extract %[[WORDS]][0]
// CHECK: %[[W3:.*]] = vector.extract %[[WORDS]][3]
// CHECK: %[[A0:.*]] = llvm.bitcast %[[W0]] : i32 to vector<2xf16>
// CHECK: %[[A3:.*]] = llvm.bitcast %[[W3]] : i32 to vector<2xf16>
// CHECK: %[[D:.*]] = nvvm.mma.sync A[%[[A0]], %{{.*}}, %{{.*}}, %[[A3]]]  B[%{{.*}}, %{{.*}}]  C[%[[C0]], %{{.*}}, %{{.*}}, %[[C3]]]
// CHECK-SAME: layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: %[[D0:.*]] = llvm.extractvalue %[[D]][0]
// CHECK: %[[D3:.*]] = llvm.extractvalue %[[D]][3]
// CHECK: vector.from_elements %[[D0]], %{{.*}}, %{{.*}}, %[[D3]] : vector<4xf32>
decant.kernel @product(%a: vector<8xf16>, %b: vector<4xf16>, %c: vector<4xf32>, %out: memref<4xf32>)
    attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %d = decant.mma %a, %b, %c : vector<8xf16>, vector<4xf16>, vector<4xf32>
  vector.store %d, %out[%zero] : memref<4xf32>, vector<4xf32>
  decant.return
}

// -----

// bf16 operands are words.
// CHECK-LABEL: gpu.func @product_bf16(
// CHECK: nvvm.mma.sync
// CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>
// CHECK-SAME: (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
decant.kernel @product_bf16(%a: vector<8xbf16>, %b: vector<4xbf16>, %c: vector<4xf32>, %out: memref<4xf32>)
    attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %d = decant.mma %a, %b, %c : vector<8xbf16>, vector<4xbf16>, vector<4xf32>
  vector.store %d, %out[%zero] : memref<4xf32>, vector<4xf32>
  decant.return
}

// -----

// A lane's two elements are one register of movmatrix.
// CHECK-LABEL: gpu.func @turns(
// CHECK: %[[X:.*]] = llvm.bitcast %{{.*}} : vector<2xf16> to i32
// CHECK: %[[Y:.*]] = llvm.inline_asm has_side_effects {{.*}}"movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r" %[[X]] : (i32) -> i32
// CHECK: llvm.bitcast %[[Y]] : i32 to vector<2xf16>
decant.kernel @turns(%x: vector<2xf16>, %out: memref<2xf16>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.transpose %x : vector<2xf16>
  vector.store %y, %out[%zero] : memref<2xf16>, vector<2xf16>
  decant.return
}

// -----

// Bytes u become the f16 numbers 1024 + u (0x64 in the upper byte: 0x64646464 is
// 1684300900), two by each permutation: bytes 0, 4, 1, 4 (0x4140 is 16704), then 2,
// 4, 3, 4 (0x4342 is 17218). 1024 + 128 is subtracted.
// CHECK-LABEL: gpu.func @widens_8(
// CHECK: %[[WORDS:.*]] = llvm.bitcast %{{.*}} : vector<8xi8> to vector<2xi32>
// CHECK: %[[FIRST:.*]] = vector.extract %[[WORDS]][0]
// CHECK: %[[SECOND:.*]] = vector.extract %[[WORDS]][1]
// CHECK-DAG: %[[E1024:.*]] = arith.constant 1684300900 : i32
// CHECK-DAG: %[[LOW:.*]] = arith.constant 16704 : i32
// CHECK: %[[P0:.*]] = nvvm.prmt <default> %[[LOW]], %[[FIRST]], %[[E1024]] : i32
// CHECK: %[[HIGH:.*]] = arith.constant 17218 : i32
// CHECK: %[[P1:.*]] = nvvm.prmt <default> %[[HIGH]], %[[FIRST]], %[[E1024]] : i32
// CHECK: %[[P2:.*]] = nvvm.prmt <default> %[[LOW]], %[[SECOND]], %[[E1024]] : i32
// CHECK: %[[P3:.*]] = nvvm.prmt <default> %[[HIGH]], %[[SECOND]], %[[E1024]] : i32
// CHECK: %[[ALL:.*]] = vector.from_elements %[[P0]], %[[P1]], %[[P2]], %[[P3]] : vector<4xi32>
// CHECK: %[[BIASED:.*]] = llvm.bitcast %[[ALL]] : vector<4xi32> to vector<8xf16>
// CHECK: %[[BIAS:.*]] = arith.constant dense<1.152000e+03> : vector<8xf16>
// CHECK: arith.subf %[[BIASED]], %[[BIAS]] : vector<8xf16>
decant.kernel @widens_8(%x: vector<8xi8>, %out: memref<8xf16>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.unpack_codes %x : vector<8xi8> -> vector<8xf16>
  vector.store %y, %out[%zero] : memref<8xf16>, vector<8xf16>
  decant.return
}

// -----

// Codes 2 p and 2 p + 1 are the fields p and p + 4 of a word, 16 bits apart. One
// instruction masks both (0x000f000f is 983055) and puts them under the exponent of
// 1024 (0x64006400 is 1677747200). The second field of a byte stays where it is
// (0x00f000f0 is 15728880): 1024 + 16 u, whose sixteenth less 64 + 8 is the code.
// CHECK-LABEL: gpu.func @widens_4(
// CHECK: %[[WORD:.*]] = llvm.bitcast %{{.*}} : vector<4xi8> to i32
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK: %[[UPPER:.*]] = arith.shrui %[[WORD]], %[[EIGHT]] : i32
// CHECK: %[[E1024:.*]] = arith.constant 1677747200 : i32
// CHECK: %[[MASK:.*]] = arith.constant 983055 : i32
// CHECK: %[[P0:.*]] = llvm.inline_asm {{.*}}"lop3.b32 $0, $1, $2, $3, 0xEA;"{{.*}} %[[WORD]], %[[MASK]], %[[E1024]] :
// CHECK: %[[MASK2:.*]] = arith.constant 15728880 : i32
// CHECK: %[[P1:.*]] = llvm.inline_asm {{.*}} %[[WORD]], %[[MASK2]], %[[E1024]] :
// CHECK: %[[P2:.*]] = llvm.inline_asm {{.*}} %[[UPPER]], %[[MASK]], %[[E1024]] :
// CHECK: %[[P3:.*]] = llvm.inline_asm {{.*}} %[[UPPER]], %[[MASK2]], %[[E1024]] :
// CHECK: vector.from_elements %[[P0]], %[[P1]], %[[P2]], %[[P3]] : vector<4xi32>
// CHECK-DAG: %[[UNIT:.*]] = arith.constant dense<[1.000000e+00, 1.000000e+00, 6.250000e-02, 6.250000e-02, 1.000000e+00, 1.000000e+00, 6.250000e-02, 6.250000e-02]>
// CHECK-DAG: %[[BIAS:.*]] = arith.constant dense<[-1.032000e+03, -1.032000e+03, -7.200000e+01, -7.200000e+01, -1.032000e+03, -1.032000e+03, -7.200000e+01, -7.200000e+01]>
// CHECK: math.fma %{{.*}}, %[[UNIT]], %[[BIAS]] : vector<8xf16>
decant.kernel @widens_4(%x: vector<4xi8>, %out: memref<8xf16>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.unpack_codes %x : vector<4xi8> -> vector<8xf16>
  vector.store %y, %out[%zero] : memref<8xf16>, vector<8xf16>
  decant.return
}

// -----

// The two bytes of 2-bit fields first go to the halves of a word, then as above with
// 0x00030003 (196611) and 1024 + 2.
// CHECK-LABEL: gpu.func @widens_2(
// CHECK: %[[BYTES:.*]] = llvm.bitcast %{{.*}} : vector<2xi8> to i16
// CHECK: %[[WIDE:.*]] = arith.extui %[[BYTES]] : i16 to i32
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[SELECT:.*]] = arith.constant 16704 : i32
// CHECK: %[[WORD:.*]] = nvvm.prmt <default> %[[SELECT]], %[[WIDE]], %[[NONE]] : i32
// CHECK: %[[MASK:.*]] = arith.constant 196611 : i32
// CHECK: llvm.inline_asm {{.*}} %[[WORD]], %[[MASK]], %{{.*}} :
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK: arith.shrui %[[WORD]], %[[TWO]] : i32
// CHECK: %[[BIAS:.*]] = arith.constant dense<1.026000e+03> : vector<8xf16>
// CHECK: arith.subf %{{.*}}, %[[BIAS]] : vector<8xf16>
decant.kernel @widens_2(%x: vector<2xi8>, %out: memref<8xf16>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.unpack_codes %x : vector<2xi8> -> vector<8xf16>
  vector.store %y, %out[%zero] : memref<8xf16>, vector<8xf16>
  decant.return
}

// -----

// Of 6 bits, the second tile of a word of upper fields: its bytes 2 and 3 go to the
// halves (0x4342 is 17218). Pair 0 takes 4 bits of each half (983055) and, moved up
// by 4, 2 bits more (0x00300030 is 3145776), under the exponent of 1024; pair 3, 12
// bits down and 2 bits down. 1024 + 32 is subtracted.
// CHECK-LABEL: gpu.func @widens_6(
// CHECK-SAME: %[[LOW:.*]]: i32, %[[HIGH:.*]]: i32,
// CHECK: %[[SELECT:.*]] = arith.constant 17218 : i32
// CHECK: %[[UP:.*]] = nvvm.prmt <default> %[[SELECT]], %[[HIGH]], %{{.*}} : i32
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: %[[MOVED:.*]] = arith.shli %[[UP]], %[[FOUR]] : i32
// CHECK: %[[E1024:.*]] = arith.constant 1677747200 : i32
// CHECK: %[[UPPER:.*]] = arith.constant 3145776 : i32
// CHECK: %[[E0:.*]] = llvm.inline_asm {{.*}} %[[MOVED]], %[[UPPER]], %[[E1024]] :
// CHECK: %[[MASK:.*]] = arith.constant 983055 : i32
// CHECK: llvm.inline_asm {{.*}} %[[LOW]], %[[MASK]], %[[E0]] :
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK: arith.shli %[[UP]], %[[TWO]] : i32
// CHECK: arith.shrui %[[UP]], %[[TWO]] : i32
// CHECK: %[[TWELVE:.*]] = arith.constant 12 : i32
// CHECK: arith.shrui %[[LOW]], %[[TWELVE]] : i32
// CHECK: %[[BIAS:.*]] = arith.constant dense<1.056000e+03> : vector<8xf16>
// CHECK: arith.subf %{{.*}}, %[[BIAS]] : vector<8xf16>
decant.kernel @widens_6(%low: i32, %high: i32, %out: memref<8xf16>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.unpack_planes %low, %high part 1 bits 6 : vector<8xf16>
  vector.store %y, %out[%zero] : memref<8xf16>, vector<8xf16>
  decant.return
}

// -----

// Of 3 bits, the upper fields of a tile are one byte, here the third (0x4442 is
// 17474), whose upper half goes 12 bits further up. Biased numbers have no exponent
// and no bias taken off: the upper bits (0x00040004 is 262148) are only masked.
// CHECK-LABEL: gpu.func @widens_3(
// CHECK-SAME: %[[LOW:.*]]: i32, %[[HIGH:.*]]: i32,
// CHECK: %[[PAIRS:.*]] = arith.constant 16704 : i32
// CHECK: nvvm.prmt <default> %[[PAIRS]], %[[LOW]], %{{.*}} : i32
// CHECK: %[[THIRD:.*]] = arith.constant 17474 : i32
// CHECK: %[[BYTE:.*]] = nvvm.prmt <default> %[[THIRD]], %[[HIGH]], %{{.*}} : i32
// CHECK: %[[TWELVE:.*]] = arith.constant 12 : i32
// CHECK: %[[MOVED:.*]] = arith.shli %[[BYTE]], %[[TWELVE]] : i32
// CHECK: arith.ori %[[BYTE]], %[[MOVED]] : i32
// CHECK: arith.constant 262148 : i32
// CHECK: arith.andi
// CHECK-NOT: 1677747200
// CHECK-NOT: arith.subf
// CHECK: gpu.return
decant.kernel @widens_3(%low: i32, %high: i32, %out: memref<8xf16>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.unpack_planes %low, %high part 2 bits 3 biased : vector<8xf16>
  vector.store %y, %out[%zero] : memref<8xf16>, vector<8xf16>
  decant.return
}

// -----

// x scale + 1024 + 32: the low plane has 4 bits of both halves, the high one the 2
// above them (0x00030003 is 196611), whose bytes 0 and 2 are one half of a word
// (0x4420 is 17440).
// CHECK-LABEL: gpu.func @narrows_6(
// CHECK: %[[MAGIC:.*]] = arith.constant dense<1.056000e+03> : vector<8xf16>
// CHECK: %[[SUM:.*]] = math.fma %{{.*}}, %{{.*}}, %[[MAGIC]] : vector<8xf16>
// CHECK: arith.constant 983055 : i32
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: %[[ABOVE:.*]] = arith.shrui %{{.*}}, %[[FOUR]] : i32
// CHECK: %[[MASK:.*]] = arith.constant 196611 : i32
// CHECK: arith.andi %[[ABOVE]], %[[MASK]] : i32
// CHECK: %[[SELECT:.*]] = arith.constant 17440 : i32
// CHECK: nvvm.prmt <default> %[[SELECT]], %{{.*}}, %{{.*}} : i32
decant.kernel @narrows_6(%x: vector<8xf16>, %scale: vector<8xf16>, %out: memref<2xi32>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low, %high = decant.pack_planes %x scale %scale : vector<8xf16> bits 6 : vector<8xf16>
  memref.store %low, %out[%zero] : memref<2xi32>
  memref.store %high, %out[%one] : memref<2xi32>
  decant.return
}

// -----

// x + 1.5 * 2^23 + 128 has the rounded code plus 128 in its lowest byte (0x4b400080);
// permutations collect the lowest bytes of four words.
// CHECK-LABEL: gpu.func @narrows_8(
// CHECK: %[[MAGIC:.*]] = arith.constant dense<0x4B400080> : vector<8xf32>
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[MAGIC]] : vector<8xf32>
// CHECK: %[[X0:.*]] = vector.extract %[[SUM]][0]
// CHECK: %[[X1:.*]] = vector.extract %[[SUM]][1]
// CHECK: %[[B0:.*]] = arith.bitcast %[[X0]] : f32 to i32
// CHECK: %[[B1:.*]] = arith.bitcast %[[X1]] : f32 to i32
// CHECK: %[[PAIR:.*]] = arith.constant 64 : i32
// CHECK: %[[FIRST:.*]] = nvvm.prmt <default> %[[PAIR]], %[[B0]], %[[B1]] : i32
// CHECK: %[[SECOND:.*]] = nvvm.prmt <default> %[[PAIR]], %{{.*}}, %{{.*}} : i32
// CHECK: %[[HALVES:.*]] = arith.constant 21520 : i32
// CHECK: %[[WORD:.*]] = nvvm.prmt <default> %[[HALVES]], %[[FIRST]], %[[SECOND]] : i32
// CHECK: vector.from_elements %[[WORD]], %{{.*}} : vector<2xi32>
decant.kernel @narrows_8(%x: vector<8xf32>, %out: memref<8xi8>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.pack_codes %x : vector<8xf32> -> vector<8xi8>
  vector.store %y, %out[%zero] : memref<8xi8>, vector<8xi8>
  decant.return
}

// -----

// Code 1 is field 4, code 2 field 1.
// CHECK-LABEL: gpu.func @narrows_4(
// CHECK: arith.constant dense<0x4B400008> : vector<8xf32>
// CHECK: %[[MASK:.*]] = arith.constant 15 : i32
// CHECK: %[[F0:.*]] = arith.andi %{{.*}}, %[[MASK]] : i32
// CHECK: %[[F1:.*]] = arith.andi %{{.*}}, %[[MASK]] : i32
// CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : i32
// CHECK: %[[AT1:.*]] = arith.shli %[[F1]], %[[SIXTEEN]] : i32
// CHECK: %[[OR1:.*]] = arith.ori %[[F0]], %[[AT1]] : i32
// CHECK: %[[F2:.*]] = arith.andi %{{.*}}, %[[MASK]] : i32
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: %[[AT2:.*]] = arith.shli %[[F2]], %[[FOUR]] : i32
// CHECK: arith.ori %[[OR1]], %[[AT2]] : i32
// CHECK: llvm.bitcast %{{.*}} : i32 to vector<4xi8>
decant.kernel @narrows_4(%x: vector<8xf32>, %out: memref<4xi8>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %y = decant.pack_codes %x : vector<8xf32> -> vector<4xi8>
  vector.store %y, %out[%zero] : memref<4xi8>, vector<4xi8>
  decant.return
}

// -----

// Row-major addresses in bytes, shared and global; 16 bytes, or 0 that are read and
// so 16 zeros that are written.
// CHECK-LABEL: gpu.func @copies(
// CHECK-SAME: %[[POOL:.*]]: memref<4x16xf16>, %[[ROW:.*]]: index, %[[COLUMN:.*]]: index, %[[VALID:.*]]: i1)
// CHECK-SAME: dynamic_shared_bytes = 384
// CHECK-DAG: %[[ALL:.*]] = arith.constant 16 : i32
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0 : i32
// CHECK: %[[BYTES:.*]] = arith.select %[[VALID]], %[[ALL]], %[[NONE]] : i32
// CHECK: %[[WIDTH:.*]] = arith.constant 24 : index
// CHECK: %[[START:.*]] = arith.muli %[[COLUMN]], %[[WIDTH]] : index
// CHECK: %[[AT:.*]] = arith.addi %[[START]], %[[ROW]] : index
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: arith.muli %[[AT]], %[[TWO]] : index
// CHECK: %[[TO:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<3>
// CHECK: memref.extract_aligned_pointer_as_index %[[POOL]]
// CHECK: %[[FROM:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<1>
// CHECK: nvvm.cp.async.shared.global %[[TO]], %[[FROM]], 16, cache = cg, %[[BYTES]]
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: nvvm.cp.async.wait.group 0
decant.kernel @copies(%pool: memref<4x16xf16>, %row: index, %column: index, %valid: i1) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %rows = decant.scratch : memref<8x24xf16, #gpu.address_space<workgroup>>
  decant.copy_async %pool[%row, %column] to %rows[%column, %row] if %valid
      : memref<4x16xf16>, memref<8x24xf16, #gpu.address_space<workgroup>>
  decant.copy_wait
  decant.return
}

// -----

// One lane starts, expects and copies; what arrived is counted in 8 bytes of shared
// memory, which are given back before anything else may lie there.
// CHECK-LABEL: gpu.func @bulk(
// CHECK: nvvm.mbarrier.init %[[ARRIVAL:.*]], %{{.*}} : !llvm.ptr<3>, i32
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.mbarrier.inval %{{.*}} : !llvm.ptr<3>
decant.kernel @bulk(%pool: memref<1x64xi8>, %bytes: index) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %codes = decant.scratch : memref<1x64xi8, #gpu.address_space<workgroup>>
  %arrival = decant.scratch : memref<1x4xf32, #gpu.address_space<workgroup>>
  decant.bulk_start %arrival : memref<1x4xf32, #gpu.address_space<workgroup>>
  decant.bulk_expect %bytes by %arrival : memref<1x4xf32, #gpu.address_space<workgroup>>
  decant.bulk_copy %bytes of %pool[%zero, %zero] to %codes[%zero, %zero] by %arrival
      : memref<1x64xi8>, memref<1x64xi8, #gpu.address_space<workgroup>>, memref<1x4xf32, #gpu.address_space<workgroup>>
  decant.bulk_wait %arrival : memref<1x4xf32, #gpu.address_space<workgroup>>
  decant.bulk_end %arrival : memref<1x4xf32, #gpu.address_space<workgroup>>
  decant.return
}

// -----

// CHECK-LABEL: gpu.func @shifts(
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: %[[WARP:.*]] = arith.constant 32 : i32
// CHECK: %[[Y:.*]], %{{.*}} = gpu.shuffle down %{{.*}}, %[[FOUR]], %[[WARP]] : f32
// CHECK: memref.store %[[Y]]
decant.kernel @shifts(%x: f32, %out: memref<1024xf32>) attributes {lanes = array<i64: 32, 2>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_shift %x by 4 : f32
  memref.store %y, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// The bits of |x| order as whole numbers do: a whole warp has an instruction for
// their maximum.
// CHECK-LABEL: gpu.func @largest(
// CHECK: %[[X0:.*]] = math.absf
// CHECK: %[[X1:.*]] = math.absf
// CHECK: %[[B0:.*]] = arith.bitcast %[[X0]] : f32 to i32
// CHECK: %[[ALL:.*]] = arith.constant -1 : i32
// CHECK: %[[M0:.*]] = nvvm.redux.sync umax %[[B0]], %[[ALL]] : i32 -> i32
// CHECK: %[[B1:.*]] = arith.bitcast %[[X1]] : f32 to i32
// CHECK: nvvm.redux.sync umax %[[B1]], %[[ALL]] : i32 -> i32
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
decant.kernel @largest(%x: vector<2xf32>, %out: memref<1024xf32>) attributes {lanes = array<i64: 32, 2>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce magnitude %x over <key> : vector<2xf32>
  vector.store %y, %out[%k] : memref<1024xf32>, vector<2xf32>
  decant.return
}

// -----

// Lanes that differ in more than l mod 4: three steps.
// CHECK-LABEL: gpu.func @part(
// CHECK: arith.constant 4 : i32
// CHECK: gpu.shuffle xor
// CHECK: arith.constant 8 : i32
// CHECK: gpu.shuffle xor
// CHECK: arith.constant 16 : i32
// CHECK: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
decant.kernel @part(%x: f32, %out: memref<1024xf32>) attributes {lanes = array<i64: 32, 2>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce add %x over <key> from 4 until 32 : f32
  memref.store %y, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// Over 8 terms, half of the operands.
// CHECK-LABEL: gpu.func @short_product(
// CHECK: nvvm.mma.sync A[%{{[^,]*}}, %{{[^,]*}}]  B[%{{[^,]*}}]
// CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 8>
decant.kernel @short_product(%a: vector<4xf16>, %b: vector<2xf16>, %c: vector<4xf32>, %out: memref<4xf32>)
    attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %d = decant.mma %a, %b, %c : vector<4xf16>, vector<2xf16>, vector<4xf32>
  vector.store %d, %out[%zero] : memref<4xf32>, vector<4xf32>
  decant.return
}

// -----

// Lane 8 m + i brings the address of row i of matrix m. Of operand A, the second
// matrix lies 8 rows further down and the third 8 columns further on; turned round,
// it is the other way. Rows beyond the last are the last.
// CHECK-LABEL: gpu.func @operands(
// CHECK: %[[C7:.*]] = arith.constant 7 : index
// CHECK: %[[I:.*]] = arith.andi %[[LANE:.*]], %[[C7]] : index
// CHECK: %[[C8:.*]] = arith.constant 8 : index
// CHECK: %[[DOWN:.*]] = arith.andi %[[LANE]], %[[C8]] : index
// CHECK: %[[HALF:.*]] = arith.shrui %[[LANE]], %{{.*}} : index
// CHECK: %[[ALONG:.*]] = arith.andi %[[HALF]], %[[C8]] : index
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[DOWN]] : index
// CHECK: arith.muli %[[ROW]], %{{.*}} : index
// CHECK: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK: %[[TURNED:.*]] = arith.addi %[[I]], %[[ALONG]] : index
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
// CHECK: arith.minui
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 2 : i32
// CHECK: nvvm.bar.warp.sync
decant.kernel @operands(%out: memref<8xf16>) attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %lane = decant.lane <key>
  %panel = decant.scratch : memref<24x40xf16, #gpu.address_space<workgroup>>
  %a = decant.load_tile %panel[%zero, %zero] lane %lane : memref<24x40xf16, #gpu.address_space<workgroup>> -> vector<8xf16>
  %t = decant.load_tile %panel[%zero, %zero] lane %lane transposed : memref<24x40xf16, #gpu.address_space<workgroup>> -> vector<8xf16>
  %b = decant.load_tile %panel[%zero, %zero] lane %lane right rows 4 : memref<24x40xf16, #gpu.address_space<workgroup>> -> vector<8xf16>
  %s = decant.load_tile %panel[%zero, %zero] lane %lane right transposed : memref<24x40xf16, #gpu.address_space<workgroup>> -> vector<4xf16>
  decant.barrier warp
  %at = arith.addf %a, %t : vector<8xf16>
  %atb = arith.addf %at, %b : vector<8xf16>
  vector.store %atb, %out[%zero] : memref<8xf16>, vector<8xf16>
  vector.store %s, %out[%zero] : memref<8xf16>, vector<4xf16>
  decant.return
}

// -----

// What blocks tell each other is a byte, which a lane reads until it is not 0; the
// largest of numbers that are all alike is in a register of the warp.
// CHECK-LABEL: gpu.func @exchanges(
// CHECK: gpu.grid_dim  x
// CHECK: nvvm.redux.sync  umax
// CHECK: llvm.inline_asm has_side_effects {{.*}}"st.relaxed.gpu.global.u8 [$2], $1;
// CHECK: scf.while
// CHECK: %[[SAID:.*]] = llvm.inline_asm has_side_effects {{.*}}"ld.relaxed.gpu.global.u8 $0, [$1];"
// CHECK: %[[AGAIN:.*]] = arith.cmpi eq, %[[SAID]], %{{.*}} : i32
// CHECK: scf.condition(%[[AGAIN]]) %[[SAID]]
decant.kernel @exchanges(%pool: memref<64xi8, #gpu.address_space<global>>, %out: memref<1xi32>)
    attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %blocks = decant.blocks
  %byte = decant.uniform %blocks
  decant.post %one to %pool[%byte] : memref<64xi8, #gpu.address_space<global>>
  %said = decant.await %pool[%zero] : memref<64xi8, #gpu.address_space<global>>
  memref.store %said, %out[%zero] : memref<1xi32>
  decant.return
}

// -----

// Of halves, one fma scales, rounds and adds the bias; the lower byte of each is the
// code, bytes 0, 2, 4, 6 (0x6420 is 25632).
// CHECK-LABEL: gpu.func @packs_halves(
// CHECK: %[[BIAS:.*]] = arith.constant dense<1.152000e+03> : vector<8xf16>
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[BIAS]] : vector<8xf16>
// CHECK: arith.constant 25632 : i32
// CHECK-COUNT-2: nvvm.prmt
decant.kernel @packs_halves(%x: vector<8xf16>, %scale: vector<8xf16>, %out: memref<8xi8>)
    attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %codes = decant.pack_codes %x scale %scale : vector<8xf16> : vector<8xf16> -> vector<8xi8>
  vector.store %codes, %out[%zero] : memref<8xi8>, vector<8xi8>
  decant.return
}
