// RUN: decant-opt %s --decant-tile-kernel --canonicalize --cse | FileCheck %s

// A step of window 1 over plain f32 codes reads the state once and writes it once;
// 2 blocks share a head of 16 x 32, in each of them a lane of 8 x 4 holds 2 rows of
// 4 columns.

#layout = #decant.layout<heads = 2, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 2064,
    scales = [], regions = {codes = #decant.region<0, 16 x 32, f32>, cursor = #decant.region<2048, 1 x 4, f32>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4, keys_per_lane = 2,
    values_per_lane = 4, rows = unrolled, lanes = value_first, split = 2>
!pool = memref<1048576xi8>
!rows = memref<1048576xf32>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: attributes {lanes = array<i64: 8, 4>, target = #decant.target<"sm_90a">, value_first}
// CHECK: %[[KL:.*]] = decant.lane <key>
// CHECK: %[[VL:.*]] = decant.lane <value>
// CHECK: %[[KEY:.*]] = arith.muli %[[KL]], %c2 : index
// CHECK: %[[SLICE:.*]] = decant.slice 2
// CHECK: %[[FIRST:.*]] = arith.muli %[[SLICE]], %c4 : index
// CHECK: %[[COLUMN:.*]] = arith.addi %[[FIRST]], %[[VL]] : index
// CHECK: %[[VALUE:.*]] = arith.muli %[[COLUMN]], %c4 : index
// CHECK: %row, %head = decant.block 2 split 2

// The state is loaded before the inputs,
// CHECK: %[[S0:.*]] = vector.load %[[CODES:.*]][%[[KEY]], %[[VALUE]]] {alignment = 16 : i64} : memref<16x32xf32>, vector<4xf32>
// CHECK: %[[ROW1:.*]] = arith.addi %[[KEY]], %c1 : index
// CHECK: %[[S1:.*]] = vector.load %[[CODES]][%[[ROW1]], %[[VALUE]]]
// CHECK: %[[LANES:.*]] = arith.addi %[[KL]], %[[VL]] : index
// CHECK: %[[ALL:.*]] = arith.addi %[[LANES]], %[[SLICE]] : index
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[ALL]], %c0 : index
// CHECK: %[[TOKENS:.*]] = scf.if %[[ONE]] -> (i64) {
// CHECK: vector.load %k[
// CHECK: vector.load %v[

// both reads and the dot are one reduction of 4 + 4 + 1 elements,
// CHECK-NOT: decant.lane_reduce
// CHECK: vector.fma %{{.*}}, %[[S0]], %cst
// CHECK: vector.fma %{{.*}}, %[[S0]], %cst
// CHECK: vector.fma %{{.*}}, %[[S1]]
// CHECK: vector.fma %{{.*}}, %[[S1]]
// CHECK: decant.lane_reduce add %{{.*}} over <key> : vector<9xf32>
// CHECK-NOT: decant.lane_reduce
// CHECK-NOT: decant.barrier

// and the loaded rows become the stored ones.
// CHECK-NOT: vector.load
// CHECK: %[[D0:.*]] = arith.mulf %[[S0]], %{{.*}} : vector<4xf32>
// CHECK: %[[N0:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[D0]]
// CHECK: %[[D1:.*]] = arith.mulf %[[S1]], %{{.*}} : vector<4xf32>
// CHECK: %[[N1:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[D1]]
// CHECK: vector.store %[[N0]], %[[CODES]][%[[KEY]], %[[VALUE]]] {alignment = 16 : i64}
// CHECK: vector.store %[[N1]], %[[CODES]][%[[ROW1]], %[[VALUE]]]

// The cursor and the header belong to one lane of the first slice, the output to
// each slice.
// CHECK: scf.if %[[ONE]] {
// CHECK: memref.store %{{.*}} : memref<1x4xi32>
// CHECK: scf.if %[[ONE]] {
// CHECK: %[[NEXT:.*]] = arith.addi %[[TOKENS]], %c1_i64
// CHECK: memref.store %[[NEXT]], %{{.*}} : memref<1x2xi64>
// CHECK: %[[COUNT:.*]] = arith.addi %[[TOKENS]], %c1_i64
// CHECK: %[[OWNER:.*]] = arith.cmpi eq, %[[KL]], %c0 : index
// CHECK: scf.if %[[OWNER]] {
// CHECK: vector.store %{{.*}}, %out[
// CHECK: scf.if
// CHECK-NEXT: scf.if %[[ONE]] {
// CHECK-NOT: memref.load
// CHECK: memref.store %[[COUNT]], %{{.*}} : memref<1x2xi64>
decant.kernel @step(%state: !pool, %k: !rows, %v: !rows, %g: f32, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %row, %head = decant.block 2
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %k[%at] : !rows -> !key
  %u = decant.load %v[%at] : !rows -> !value
  %xg = decant.scale %x, %g : !key
  %y, %z = decant.window_read %slot, %x, %xg : (!decant.slot, !key, !key) -> (!value, !value)
  %d = decant.dot %x, %x : !key
  %w = decant.scale %u, %d : !value
  %o = arith.addf %y, %z : !value
  %p = arith.addf %o, %w : !value
  decant.fold %slot key_decay(%g : f32) keys(%x : !key) values(%p : !value) : !decant.slot
  decant.store %p, %out[%at] : !value, !rows
  decant.touch_header %slot, %state[%at] head %head : !pool
  decant.return
}

// Without a fold the state is only read: nothing to hold.
// CHECK-LABEL: decant.kernel @reads(
// CHECK: vector.load %k[
// CHECK: vector.load {{.*}} memref<16x32xf32>
decant.kernel @reads(%state: !pool, %k: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %k[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}
