// RUN: decant-opt %s --split-input-file --decant-tile-kernel --canonicalize --cse > %t.tiled
// RUN: FileCheck %s < %t.tiled
// RUN: FileCheck %s --check-prefix=WARP < %t.tiled
// RUN: decant-opt %t.tiled --split-input-file --decant-map-to-gpu | FileCheck %s --check-prefix=MAPPED

// A step of window 1 over f32 codes in columns: 8 lanes have the 32 keys of a value,
// 4 each, and 4 such rows of lanes are a warp, which has 8 of 16 values; so 2 blocks of
// one warp share a head.

#layout = #decant.layout<heads = 2, keyDim = 32, valueDim = 16, paddedKey = 32, paddedValue = 16,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 2064, codeOrder = columns,
    scales = [], regions = {codes = #decant.region<0, 16 x 32, f32>, cursor = #decant.region<2048, 1 x 4, f32>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4, keys_per_lane = 4,
    values_per_lane = 2, rows = unrolled, split = 2>
!pool = memref<1048576xi8>
!rows = memref<1048576xf32>
!key = tensor<32xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>

// Nothing crosses warps.
// WARP-NOT: decant.barrier
// WARP-NOT: decant.scratch
// MAPPED-COUNT-2: gpu.func @{{.*}} {dynamic_shared_bytes = 0 : i64, known_block_size = array<i32: 32, 1, 1>}
// MAPPED-NOT: gpu.barrier

// A lane loads 16 bytes of each of its values,
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: attributes {lanes = array<i64: 8, 4>, target = #decant.target<"sm_90a">}
// CHECK: %[[KL:.*]] = decant.lane <key>
// CHECK: %[[VL:.*]] = decant.lane <value>
// CHECK: %[[KEY:.*]] = arith.muli %[[KL]], %c4 : index
// CHECK: %[[SLICE:.*]] = decant.slice 2
// CHECK: %[[VALUE:.*]] = arith.muli %{{.*}}, %c2 : index
// CHECK: %[[V0:.*]] = vector.load %[[CODES:.*]][%[[VALUE]], %[[KEY]]] {alignment = 16 : i64} : memref<16x32xf32>, vector<4xf32>
// CHECK: %[[VALUE1:.*]] = arith.addi %[[VALUE]], %c1 : index
// CHECK: %[[V1:.*]] = vector.load %[[CODES]][%[[VALUE1]], %[[KEY]]] {alignment = 16 : i64} : memref<16x32xf32>, vector<4xf32>
// CHECK-NOT: memref<16x32xf32>

// sees them as rows,
// CHECK: %[[A0:.*]] = vector.extract %[[V0]][0]
// CHECK: %[[B0:.*]] = vector.extract %[[V1]][0]
// CHECK: %[[ROW0:.*]] = vector.from_elements %[[A0]], %[[B0]] : vector<2xf32>
// CHECK: vector.load %k[
// CHECK: vector.load %v[

// adds up what the lanes of a warp have for both reads at once,
// CHECK-NOT: decant.lane_reduce
// CHECK: vector.fma %{{.*}}, %[[ROW0]], %cst
// CHECK: decant.lane_reduce add %{{.*}} over <key> : vector<4xf32>
// CHECK-NOT: decant.lane_reduce

// and stores the new rows as columns.
// CHECK: %[[D0:.*]] = arith.mulf %[[ROW0]], %{{.*}} : vector<2xf32>
// CHECK: %[[N0:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[D0]]
// CHECK: %[[N00:.*]] = vector.extract %[[N0]][0]
// CHECK: %[[C0:.*]] = vector.from_elements %[[N00]], %{{.*}} : vector<4xf32>
// CHECK: %[[N01:.*]] = vector.extract %[[N0]][1]
// CHECK: %[[C1:.*]] = vector.from_elements %[[N01]], %{{.*}} : vector<4xf32>
// CHECK-NOT: scf.if
// CHECK: vector.store %[[C0]], %[[CODES]][%[[VALUE]], %[[KEY]]] {alignment = 16 : i64} : memref<16x32xf32>, vector<4xf32>
// CHECK: vector.store %[[C1]], %[[CODES]][%[[VALUE1]], %[[KEY]]] {alignment = 16 : i64}
decant.kernel @step(%state: !pool, %k: !rows, %v: !rows, %g: f32, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %k[%at] : !rows -> !key
  %u = decant.load %v[%at] : !rows -> !value
  %xg = decant.scale %x, %g : !key
  %y, %z = decant.window_read %slot, %x, %xg : (!decant.slot, !key, !key) -> (!value, !value)
  %o = arith.addf %y, %z : !value
  %p = arith.addf %o, %u : !value
  decant.fold %slot key_decay(%g : f32) keys(%x : !key) values(%p : !value) : !decant.slot
  decant.store %p, %out[%at] : !value, !rows
  decant.return
}

// -----

// 24 keys are 6 of the 8 lanes: the others load what the first has and hold zeros, of
// the state and of key vectors, and store nothing.

#layout = #decant.layout<heads = 2, keyDim = 24, valueDim = 16, paddedKey = 24, paddedValue = 16,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1552, codeOrder = columns,
    scales = [], regions = {codes = #decant.region<0, 16 x 24, f32>, cursor = #decant.region<1536, 1 x 4, f32>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4, keys_per_lane = 4,
    values_per_lane = 2, rows = unrolled, split = 2>
!pool = memref<1048576xi8>
!rows = memref<1048576xf32>
!key = tensor<24xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>

// CHECK-LABEL: decant.kernel @beyond(
// CHECK: %[[KL:.*]] = decant.lane <key>
// CHECK: %[[KEY:.*]] = arith.muli %[[KL]], %c4 : index
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[KL]], %c6 : index
// CHECK: %[[FIRST:.*]] = arith.select %[[INSIDE]], %[[KEY]], %c0 : index
// CHECK: %[[LOADED:.*]] = vector.load %[[CODES:.*]][%{{.*}}, %[[FIRST]]] {alignment = 16 : i64} : memref<16x24xf32>, vector<4xf32>
// CHECK: %[[V0:.*]] = arith.select %[[INSIDE]], %[[LOADED]], %cst
// CHECK: vector.extract %[[V0]][0]
// CHECK: %[[REAL:.*]] = arith.cmpi ult, %[[KEY]], %c24 : index
// CHECK: %[[NEAR:.*]] = arith.select %[[REAL]], %[[KEY]], %c0 : index
// CHECK: %[[AT:.*]] = arith.addi %at, %[[NEAR]] : index
// CHECK: %[[X:.*]] = vector.load %k[%[[AT]]] {alignment = 16 : i64}
// CHECK: arith.select %[[REAL]], %[[X]], %cst
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: vector.store %{{.*}}, %[[CODES]][%{{.*}}, %[[KEY]]] {{.*}} vector<4xf32>
// CHECK-NEXT: vector.store %{{.*}}, %[[CODES]][%{{.*}}, %[[KEY]]] {{.*}} vector<4xf32>
// CHECK-NEXT: }
decant.kernel @beyond(%state: !pool, %k: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %k[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.fold %slot keys(%x : !key) values(%y : !value) : !decant.slot
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}
