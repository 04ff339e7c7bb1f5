// RUN: decant-opt %s --split-input-file --decant-materialize-format --decant-assign-schedule --decant-tile-kernel --canonicalize --cse | FileCheck %s
// RUN: decant-opt %s --split-input-file --decant-materialize-format=code-order=fragments --decant-assign-schedule --decant-tile-kernel --canonicalize --cse | FileCheck %s --check-prefix=TILES

!window = !decant.window<keyDim = 16, valueDim = 32, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// int6 is two planes: 4 bits of 16 x 32 codes are 256 bytes, 2 bits are 128. A lane
// of 16 values loads 8 bytes and 4, spreads them to a byte a code, lowest bits
// first, puts the planes together and extends the sign of 6 bits. Words of bytes
// are shifted, and what crosses into another byte is masked (0xf0f0f0f0 is
// -252645136).
// CHECK-LABEL: decant.kernel @unpack_f32(
// CHECK-DAG: %[[C32:.*]] = arith.constant dense<32> : vector<16xi8>
// CHECK-DAG: %[[MINUS:.*]] = arith.constant dense<-32> : vector<16xi8>
// CHECK-DAG: %[[FOUR:.*]] = arith.constant dense<4> : vector<4xi32>
// CHECK-DAG: %[[UPPER:.*]] = arith.constant dense<-252645136> : vector<4xi32>
// CHECK-DAG: %[[LOW:.*]] = memref.view %{{.*}} to memref<1x256xi8
// CHECK-DAG: %[[HIGH:.*]] = memref.view %{{.*}} to memref<1x128xi8
// CHECK: vector.load %[[LOW]]{{.*}} {alignment = 8 : i64} : memref<1x256xi8{{.*}}>, vector<8xi8>
// CHECK: %[[FOURS:.*]] = vector.interleave %{{.*}} : vector<8xi8> -> vector<16xi8>
// CHECK: vector.load %[[HIGH]]{{.*}} {alignment = 4 : i64} : memref<1x128xi8{{.*}}>, vector<4xi8>
// CHECK: vector.interleave %{{.*}} : vector<4xi8> -> vector<8xi8>
// CHECK: %[[TWOS:.*]] = vector.interleave %{{.*}} : vector<8xi8> -> vector<16xi8>
// CHECK: %[[WORDS:.*]] = vector.bitcast %[[TWOS]] : vector<16xi8> to vector<4xi32>
// CHECK: %[[MOVED:.*]] = arith.shli %[[WORDS]], %[[FOUR]]
// CHECK: %[[MASKED:.*]] = arith.andi %[[MOVED]], %[[UPPER]]
// CHECK: %[[UP:.*]] = vector.bitcast %[[MASKED]] : vector<4xi32> to vector<16xi8>
// CHECK: %[[CODE:.*]] = arith.ori %[[FOURS]], %[[UP]]
// CHECK: %[[FLIP:.*]] = arith.xori %[[CODE]], %[[C32]]
// CHECK: %[[SIGNED:.*]] = arith.addi %[[FLIP]], %[[MINUS]]
// CHECK: arith.sitofp %[[SIGNED]] : vector<16xi8> to vector<16xf32>
decant.kernel @unpack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<i6, <key, absmax, f32>>, target = #decant.target<"sm_90a">} {
  decant.return
}

// -----

!window = !decant.window<keyDim = 128, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// A byte of 2-bit fragments holds values g and g + 8 of keys k and k + 8, which are
// two lanes' of 8 keys each: the lower half of every 16 keys is stored first.
// TILES-LABEL: decant.kernel @pack_f32(
// TILES: %[[EIGHTS:.*]] = arith.divui %[[ROW:.*]], %c8
// TILES: %[[HALF:.*]] = arith.remui %[[EIGHTS]], %c2
// TILES: %[[LOWER:.*]] = arith.cmpi eq, %[[HALF]], %c0
// TILES: scf.if %[[LOWER]] {
// TILES: %[[OLD:.*]] = memref.load %[[CODES:.*]][%c0, %[[AT:.*]]] : memref<1x512xi8
// TILES: %[[KEPT:.*]] = arith.andi %[[OLD]],
// TILES: %[[NEW:.*]] = arith.ori %[[KEPT]],
// TILES: memref.store %[[NEW]], %[[CODES]][%c0, %[[AT]]]
// TILES: decant.barrier
// TILES: %[[UPPER:.*]] = arith.cmpi eq, %[[HALF]], %c1
// TILES: scf.if %[[UPPER]] {
// TILES: decant.barrier
decant.kernel @pack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<i2, <key, absmax, f32>>, target = #decant.target<"sm_90a">} {
  decant.return
}
