// RUN: decant-opt %s --decant-tile-kernel --canonicalize --cse | FileCheck %s

// A step of window 1 over int8 codes under a scale of each key row and one of each
// value column: a lane of 8 x 4 loads its 2 rows of 8 codes once, and what a token
// makes of them stays in registers until it is stored.

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// CHECK-LABEL: decant.kernel @step(
// Before the inputs: codes as numbers, without scales.
// CHECK: %[[B0:.*]] = vector.load %{{.*}} : memref<16x32xi8>, vector<8xi8>
// CHECK: %[[C0:.*]] = arith.sitofp %[[B0]] : vector<8xi8> to vector<8xf32>
// CHECK: %[[B1:.*]] = vector.load %{{.*}} : memref<16x32xi8>, vector<8xi8>
// CHECK: %[[C1:.*]] = arith.sitofp %[[B1]] : vector<8xi8> to vector<8xf32>
// CHECK-NOT: memref<16x32xi8>, vector<8xi8>
// CHECK: vector.load %k[
// A read multiplies its vector by the key scales and the sum by the value scales.
// CHECK: vector.fma %{{.*}}, %[[C0]], %{{.*}} : vector<8xf32>
// CHECK: vector.fma %{{.*}}, %[[C1]], %{{.*}} : vector<8xf32>
// CHECK: decant.lane_reduce add %{{.*}} over <key> : vector<8xf32>
// The rows after the token: both scales and the decay, and its term.
// CHECK: %[[V0:.*]] = arith.mulf %[[C0]], %[[COLUMNS:.*]] : vector<8xf32>
// CHECK: %[[D0:.*]] = arith.mulf %[[V0]], %{{.*}} : vector<8xf32>
// CHECK: %[[R0:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[D0]] : vector<8xf32>
// CHECK: %[[V1:.*]] = arith.mulf %[[C1]], %[[COLUMNS]] : vector<8xf32>
// CHECK: %[[D1:.*]] = arith.mulf %[[V1]], %{{.*}} : vector<8xf32>
// CHECK: %[[R1:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[D1]] : vector<8xf32>
// Scales and codes are fitted to those very values.
// CHECK-NOT: scf.for
// CHECK: math.absf %[[R0]] : vector<8xf32>
// CHECK: decant.lane_reduce add %{{.*}} over <value>
// CHECK: math.absf %[[R1]] : vector<8xf32>
// CHECK: decant.lane_reduce max %{{.*}} over <key> : vector<8xf32>
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi8>
// CHECK: vector.store %{{.*}} : memref<16x32xi8>, vector<8xi8>
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi8>
// CHECK: vector.store %{{.*}} : memref<16x32xi8>, vector<8xi8>
// CHECK: decant.barrier
// CHECK: vector.store %{{.*}} : memref<1x16xf32>, vector<2xf32>
// CHECK: vector.store %{{.*}} : memref<1x32xf16>, vector<8xf16>
decant.kernel @step(%state: !pool, %k: !rows, %v: !rows, %out: !rows, %at: index, %a: f32) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %key = decant.load %k[%at] : !rows -> !key
  %u = decant.load %v[%at] : !rows -> !value
  %y = decant.window_read %slot, %key : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.fold %slot key_decay(%a : f32) keys(%key : !key) values(%u : !value) : !decant.slot
  decant.return
}
