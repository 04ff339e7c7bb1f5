// RUN: decant-opt %s --split-input-file --decant-tile-kernel --canonicalize --cse | FileCheck %s

// What one lane of 8 x 4 holds: 2 key rows and 8 columns of a 16 x 32 state.

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

// Rows unrolled: each row is one vector load, its weight an element of the lane's
// part of x; the key scale is in x, the value scale comes after the sum; the sum
// over key lanes is the only communication.
// CHECK-LABEL: decant.kernel @unrolled(
// CHECK-SAME: attributes {lanes = array<i64: 8, 4>, target = #decant.target<"sm_90a">}
// CHECK: %[[KL:.*]] = decant.lane <key>
// CHECK: %[[VL:.*]] = decant.lane <value>
// CHECK: %[[KEY:.*]] = arith.muli %[[KL]], %c2 : index
// CHECK: %[[VALUE:.*]] = arith.muli %[[VL]], %c8 : index
// CHECK: %[[CODES:.*]] = memref.view %state[%at][] : memref<1048576xi8> to memref<16x32xi8>
// CHECK: %[[KEYS:.*]] = memref.view %{{.*}} to memref<1x16xf32>
// CHECK: %[[VALUES:.*]] = memref.view %{{.*}} to memref<1x32xf16>
// CHECK: %[[Q_AT:.*]] = arith.addi %at, %[[KEY]] : index
// CHECK: %[[Q:.*]] = vector.load %q[%[[Q_AT]]] {alignment = 4 : i64} : memref<1048576xbf16>, vector<2xbf16>
// CHECK: %[[X:.*]] = arith.extf %[[Q]] : vector<2xbf16> to vector<2xf32>
// CHECK: %[[SK:.*]] = vector.load %[[KEYS]][%c0, %[[KEY]]] {alignment = 8 : i64} {{.*}} vector<2xf32>
// CHECK: %[[SV16:.*]] = vector.load %[[VALUES]][%c0, %[[VALUE]]] {alignment = 16 : i64} {{.*}} vector<8xf16>
// CHECK: %[[SV:.*]] = arith.extf %[[SV16]]
// CHECK: %[[XS:.*]] = arith.mulf %[[X]], %[[SK]] : vector<2xf32>
// CHECK: %[[C0:.*]] = vector.load %[[CODES]][%[[KEY]], %[[VALUE]]] {alignment = 8 : i64} : memref<16x32xi8>, vector<8xi8>
// CHECK: %[[F0:.*]] = arith.sitofp %[[C0]] : vector<8xi8> to vector<8xf32>
// CHECK: %[[X0:.*]] = vector.extract %[[XS]][0]
// CHECK: %[[B0:.*]] = vector.broadcast %[[X0]]
// CHECK: %[[S0:.*]] = vector.fma %[[B0]], %[[F0]], %cst : vector<8xf32>
// CHECK: %[[ROW1:.*]] = arith.addi %[[KEY]], %c1 : index
// CHECK: %[[C1:.*]] = vector.load %[[CODES]][%[[ROW1]], %[[VALUE]]]
// CHECK: vector.extract %[[XS]][1]
// CHECK: %[[S1:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[S0]] : vector<8xf32>
// CHECK: %[[SUM:.*]] = decant.lane_reduce add %[[S1]] over <key> : vector<8xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[SUM]], %[[SV]] : vector<8xf32>

// Key lanes hold the same output: one of them stores it.
// CHECK: %[[OWNER:.*]] = arith.cmpi eq, %[[KL]], %c0 : index
// CHECK: scf.if %[[OWNER]] {
// CHECK: %[[O:.*]] = arith.truncf %[[Y]] : vector<8xf32> to vector<8xbf16>
// CHECK: vector.store %[[O]], %out[%{{.*}}] {alignment = 16 : i64}
// CHECK-NOT: decant.lane_reduce
// CHECK-NOT: decant.scratch
// CHECK: decant.return
decant.kernel @unrolled(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = rolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// Rows rolled: a loop needs its weights in memory that it can index.
// CHECK-LABEL: decant.kernel @rolled(
// CHECK: %[[WEIGHTS:.*]] = decant.scratch : memref<1x16xf32, #gpu.address_space<workgroup>>
// CHECK: %[[OWNER:.*]] = arith.cmpi eq, %[[VL:.*]], %c0 : index
// CHECK: scf.if %[[OWNER]] {
// CHECK: vector.store %{{.*}}, %[[WEIGHTS]][%c0, %[[KEY:.*]]] {{.*}} vector<2xf32>
// CHECK: decant.barrier
// CHECK: %[[END:.*]] = arith.addi %[[KEY]], %c2 : index
// CHECK: %[[SUM:.*]] = scf.for %[[ROW:.*]] = %[[KEY]] to %[[END]] step %c1 iter_args(%[[ACC:.*]] = %cst) -> (vector<8xf32>) {
// CHECK: vector.load %{{.*}}[%[[ROW]], %{{.*}}] {{.*}} vector<8xi8>
// CHECK: memref.load %[[WEIGHTS]][%c0, %[[ROW]]]
// CHECK: %[[NEXT:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[ACC]] : vector<8xf32>
// CHECK: scf.yield %[[NEXT]]
// CHECK: decant.lane_reduce add %[[SUM]] over <key> : vector<8xf32>
decant.kernel @rolled(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 13, valueDim = 30, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<13xf32, #decant.axis<key>>
!value = tensor<30xf32, #decant.axis<value>>

// Dims 13 x 30 in a slot padded to 16 x 32: inputs are read from inside the row
// and zero beyond its end, outputs beyond the end are not stored. The slot's own
// arrays are padded, so they are loaded whole.
// CHECK-LABEL: decant.kernel @padded(
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[FIRST:.*]], %c13 : index
// CHECK: %[[SAFE:.*]] = arith.minui %[[FIRST]], %c12 : index
// CHECK: %[[AT:.*]] = arith.addi %at, %[[SAFE]] : index
// CHECK: %[[E:.*]] = memref.load %q[%[[AT]]] : memref<1048576xbf16>
// CHECK: %[[W:.*]] = arith.extf %[[E]] : bf16 to f32
// CHECK: %[[E0:.*]] = arith.select %[[IN]], %[[W]], %{{.*}} : f32
// CHECK: %[[E1:.*]] = arith.select
// CHECK: vector.from_elements %[[E0]], %[[E1]] : vector<2xf32>
// CHECK: vector.load %{{.*}} memref<16x32xi8>, vector<8xi8>
// CHECK: decant.lane_reduce
// CHECK: %[[FITS:.*]] = arith.cmpi ult, %[[COLUMN:.*]], %c30 : index
// CHECK-NEXT: scf.if %[[FITS]] {
// CHECK: vector.extract %{{.*}}[0] : bf16 from vector<8xbf16>
// CHECK: memref.store %{{.*}}, %out[
// CHECK-COUNT-7: arith.cmpi ult, %{{.*}}, %c30 : index
// CHECK-NOT: vector.store %{{.*}}, %out
// CHECK: decant.return
decant.kernel @padded(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 13, valueDim = 30, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1,
    keys_per_lane = 16, values_per_lane = 32, rows = rolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<13xf32, #decant.axis<key>>
!value = tensor<30xf32, #decant.axis<value>>

// One lane (the host) loads and stores the real elements as one vector each.
// CHECK-LABEL: decant.kernel @padded_host(
// CHECK-SAME: lanes = array<i64: 1, 1>
// CHECK: vector.load %q[%at] {alignment = 2 : i64} : memref<1048576xbf16>, vector<13xbf16>
// CHECK: vector.insert_strided_slice %{{.*}}, %{{.*}} {offsets = [0], strides = [1]} : vector<13xf32> into vector<16xf32>
// Scratch of the host has no address space.
// CHECK: decant.scratch : memref<1x16xf32>
// It forms the partial sums that 16 key lanes would and adds them as their
// butterfly does, so that host and GPU get the same bits.
// CHECK: %[[PARTIAL:.*]] = decant.scratch : memref<16x32xf32>
// CHECK: scf.for %[[LANE:.*]] = %c0 to %c16 step %c1 {
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[PARTIAL]][%[[LANE]], %c0]
// CHECK: %[[P0:.*]] = vector.load %[[PARTIAL]][%c0, %c0]
// CHECK: %[[P1:.*]] = vector.load %[[PARTIAL]][%c1, %c0]
// CHECK: arith.addf %[[P0]], %[[P1]] : vector<32xf32>
// CHECK-NOT: decant.lane_reduce
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [30], strides = [1]} : vector<32xbf16> to vector<30xbf16>
// CHECK: vector.store %{{.*}}, %out[%{{.*}}] {alignment = 4 : i64} : memref<1048576xbf16>, vector<30xbf16>
decant.kernel @padded_host(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"x86-64">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 8, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1424,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1408, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>,
               comp_keys = #decant.region<640, 8 x 16, f16>, comp_values = #decant.region<896, 8 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// Compensators are terms of the checkpoint without scales: a loop over them, four at
// a time, so that four rows are on their way together; one sum over the key lanes
// serves all four scores. They are added in order.
// CHECK-LABEL: decant.kernel @compensators(
// CHECK: %[[Y:.*]] = scf.for %[[TERM:.*]] = %c0 to %c8 step %c4 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<8xf32>) {
// CHECK: vector.load %[[CK:.*]][%[[TERM]], %[[KEY:.*]]] {{.*}} memref<8x16xf16>, vector<2xf16>
// CHECK: vector.load %[[CV:.*]][%[[TERM]], %[[VALUE:.*]]] {{.*}} memref<8x32xf16>, vector<8xf16>
// CHECK: %[[TERM1:.*]] = arith.addi %[[TERM]], %c1 : index
// CHECK: vector.load %[[CK]][%[[TERM1]], %[[KEY]]]
// CHECK: vector.load %[[CV]][%[[TERM1]], %[[VALUE]]]
// CHECK: %[[TERM2:.*]] = arith.addi %[[TERM]], %c2 : index
// CHECK: %[[TERM3:.*]] = arith.addi %[[TERM]], %c3 : index
// CHECK: vector.load %[[CK]][%[[TERM3]], %[[KEY]]]
// CHECK: vector.load %[[CV]][%[[TERM3]], %[[VALUE]]]
// CHECK-NOT: vector.load
// CHECK: %[[SCORES:.*]] = decant.lane_reduce add %{{.*}} over <key> : vector<4xf32>
// CHECK: vector.extract %[[SCORES]][0]
// CHECK: %[[S0:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[ACC]] : vector<8xf32>
// CHECK: %[[S1:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[S0]] : vector<8xf32>
// CHECK: %[[S2:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[S1]] : vector<8xf32>
// CHECK: %[[S3:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[S2]] : vector<8xf32>
// CHECK-NEXT: scf.yield %[[S3]] : vector<8xf32>
decant.kernel @compensators(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 6, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1232,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1216, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>,
               comp_keys = #decant.region<640, 6 x 16, f16>, comp_values = #decant.region<832, 6 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// 4 does not divide 6, so it is two at a time: every round is full.
// CHECK-LABEL: decant.kernel @six_compensators(
// CHECK: scf.for %{{.*}} = %c0 to %c6 step %c2 iter_args
// CHECK: decant.lane_reduce add %{{.*}} over <key> : vector<2xf32>
// CHECK-NOT: arith.select
// CHECK: scf.yield
decant.kernel @six_compensators(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 4, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1456,
    scales = [], regions = {codes = #decant.region<0, 16 x 32, bf16>, cursor = #decant.region<1024, 1 x 4, f32>,
               total_key_decay = #decant.region<1040, 1 x 1, f32>, record_key_decay = #decant.region<1056, 4 x 1, f32>,
               record_keys = #decant.region<1072, 4 x 16, f16>, record_values = #decant.region<1200, 4 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// A window: the total decay is in x for the checkpoint; records are walked from
// the newest to the oldest, four at a time, while the decay since is carried along.
// CHECK-LABEL: decant.kernel @records(
// CHECK: %[[WORD:.*]] = memref.load %{{.*}}[%c0, %c0] : memref<1x4xi32>
// CHECK: %[[FILL:.*]] = arith.index_castui %[[WORD]] : i32 to index
// All-zero bytes are an empty sequence: its total decay is 1, whatever is stored.
// The load does not wait for the fill.
// CHECK: %[[STORED:.*]] = memref.load %{{.*}}[%c0, %c0] : memref<1x1xf32>
// CHECK: %[[EMPTY:.*]] = arith.cmpi eq, %[[FILL]], %c0 : index
// CHECK: %[[TOTAL:.*]] = arith.select %[[EMPTY]], %[[ONE:.*]], %[[STORED]] : f32
// CHECK: %[[P:.*]] = vector.broadcast %[[TOTAL]] : f32 to vector<2xf32>
// CHECK: arith.mulf %[[X:.*]], %[[P]] : vector<2xf32>
// CHECK: %[[Y:.*]] = decant.lane_reduce add %{{.*}} over <key> : vector<8xf32>
// CHECK: %[[ALL:.*]]:2 = scf.for %[[AGE:.*]] = %c0 to %[[FILL]] step %c4 iter_args(%[[ACC:.*]] = %[[Y]], %[[SINCE:.*]] = %[[ONE]]) -> (vector<8xf32>, f32) {
// The first token of a round is always there.
// CHECK: %[[NEWEST:.*]] = arith.subi %[[FILL]], %c1 : index
// CHECK: %[[TOKEN0:.*]] = arith.subi %[[NEWEST]], %[[AGE]] : index
// CHECK: vector.load %{{.*}}[%[[TOKEN0]], %{{.*}}] {{.*}} memref<4x16xf16>, vector<2xf16>
// CHECK: vector.load %{{.*}}[%[[TOKEN0]], %{{.*}}] {{.*}} memref<4x32xf16>, vector<8xf16>
// CHECK: %[[OWN0:.*]] = memref.load %{{.*}}[%[[TOKEN0]], %c0] : memref<4x1xf32>
// CHECK: %[[SINCE1:.*]] = arith.mulf %[[SINCE]], %[[OWN0]] : f32
// The others may not be: then token 0 is loaded again, and its term is not taken.
// CHECK: %[[AGE1:.*]] = arith.addi %[[AGE]], %c1 : index
// CHECK: %[[VALID1:.*]] = arith.cmpi ult, %[[AGE1]], %[[FILL]] : index
// CHECK: %[[OF1:.*]] = arith.minui %[[AGE1]], %[[NEWEST]] : index
// CHECK: %[[TOKEN1:.*]] = arith.subi %[[NEWEST]], %[[OF1]] : index
// CHECK: vector.load %{{.*}}[%[[TOKEN1]], %{{.*}}] {{.*}} memref<4x16xf16>, vector<2xf16>
// CHECK: vector.broadcast %[[SINCE1]] : f32 to vector<2xf32>
// CHECK: vector.load %{{.*}}[%[[TOKEN1]], %{{.*}}] {{.*}} memref<4x32xf16>, vector<8xf16>
// CHECK: %[[OWN1:.*]] = memref.load %{{.*}}[%[[TOKEN1]], %c0] : memref<4x1xf32>
// CHECK: %[[SINCE2:.*]] = arith.mulf %[[SINCE1]], %[[OWN1]] : f32
// CHECK: %[[AGE2:.*]] = arith.addi %[[AGE]], %c2 : index
// CHECK: %[[VALID2:.*]] = arith.cmpi ult, %[[AGE2]], %[[FILL]] : index
// CHECK: %[[SINCE3:.*]] = arith.mulf %[[SINCE2]], %{{.*}} : f32
// CHECK: %[[AGE3:.*]] = arith.addi %[[AGE]], %c3 : index
// CHECK: %[[VALID3:.*]] = arith.cmpi ult, %[[AGE3]], %[[FILL]] : index
// CHECK: %[[OLDER:.*]] = arith.mulf %[[SINCE3]], %{{.*}} : f32
// One sum over the key lanes for the four scores; the terms are added in order.
// CHECK: arith.mulf %{{.*}}, %[[X]] : vector<2xf32>
// CHECK: %[[SCORES:.*]] = decant.lane_reduce add %{{.*}} over <key> : vector<4xf32>
// CHECK: vector.extract %[[SCORES]][0]
// CHECK: %[[SUM0:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[ACC]] : vector<8xf32>
// CHECK: %[[WITH1:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[SUM0]] : vector<8xf32>
// CHECK: %[[SUM1:.*]] = arith.select %[[VALID1]], %[[WITH1]], %[[SUM0]] : vector<8xf32>
// CHECK: %[[WITH2:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[SUM1]] : vector<8xf32>
// CHECK: %[[SUM2:.*]] = arith.select %[[VALID2]], %[[WITH2]], %[[SUM1]] : vector<8xf32>
// CHECK: %[[WITH3:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[SUM2]] : vector<8xf32>
// CHECK: %[[SUM3:.*]] = arith.select %[[VALID3]], %[[WITH3]], %[[SUM2]] : vector<8xf32>
// CHECK: scf.yield %[[SUM3]], %[[OLDER]] : vector<8xf32>, f32
decant.kernel @records(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// An append writes behind a barrier, since other lanes may still read the cursor,
// and only where there is room. What it adds to is loaded before that.
// CHECK-LABEL: decant.kernel @append(
// CHECK: %[[FILL:.*]] = arith.index_castui
// CHECK: %[[TOKENS:.*]] = memref.load %{{.*}}[%c0, %c1] : memref<1x2xi64>
// CHECK: %[[TOTAL:.*]] = arith.select
// CHECK: decant.barrier
// CHECK: %[[ROOM:.*]] = arith.cmpi ult, %[[FILL]], %c4 : index
// CHECK: scf.if %[[ROOM]] {
// Records are f16 and saturate: an infinity would stay in the slot for ever.
// CHECK: arith.minimumf
// CHECK: arith.maximumf
// CHECK: vector.store %{{.*}}, %{{.*}}[%[[FILL]], %{{.*}}] {{.*}} memref<4x16xf16>, vector<2xf16>
// CHECK: vector.store %{{.*}}, %{{.*}}[%[[FILL]], %{{.*}}] {{.*}} memref<4x32xf16>, vector<8xf16>
// CHECK: memref.store %a, %{{.*}}[%[[FILL]], %c0] : memref<4x1xf32>
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[TOTAL]], %a : f32
// CHECK: memref.store %[[PRODUCT]], %{{.*}}[%c0, %c0] : memref<1x1xf32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[FILL]], %c1 : index
// CHECK: %[[WORD:.*]] = arith.index_castui %[[NEXT]] : index to i32
// CHECK: memref.store %[[WORD]], %{{.*}}[%c0, %c0] : memref<1x4xi32>
// CHECK: arith.addi %[[TOKENS]], %{{.*}} : i64
decant.kernel @append(%state: !pool, %q: !rows, %v: !rows, %at: index, %a: f32) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %k = decant.load %q[%at] : !rows -> !key
  %u = decant.load %v[%at] : !rows -> !value
  decant.append %slot key_decay(%a : f32) keys(%k : !key) values(%u : !value) : !decant.slot
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 4, compensators = 8, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 2224,
    scales = [], regions = {codes = #decant.region<0, 16 x 32, bf16>, cursor = #decant.region<1792, 1 x 4, f32>,
               comp_keys = #decant.region<1024, 8 x 16, f16>, comp_values = #decant.region<1280, 8 x 32, f16>,
               total_key_decay = #decant.region<1808, 1 x 1, f32>, record_key_decay = #decant.region<1824, 4 x 1, f32>,
               record_keys = #decant.region<1840, 4 x 16, f16>, record_values = #decant.region<1968, 4 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1,
    keys_per_lane = 16, values_per_lane = 32, rows = rolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// One lane (the host) walks terms one at a time, so each is there and none is
// selected. The order of the sums is that of many lanes.
// CHECK-LABEL: decant.kernel @terms_host(
// CHECK: scf.for %[[TERM:.*]] = %c0 to %c8 step %c1 iter_args(%{{.*}}) -> (vector<32xf32>) {
// CHECK: vector.load %{{.*}}[%[[TERM]], %{{.*}}] {{.*}} memref<8x16xf16>, vector<16xf16>
// CHECK: scf.yield
// CHECK: scf.for %[[AGE:.*]] = %c0 to %[[FILL:.*]] step %c1 iter_args(%[[ACC:.*]] = %{{.*}}, %[[SINCE:.*]] = %{{.*}}) -> (vector<32xf32>, f32) {
// CHECK: %[[NEWEST:.*]] = arith.subi %[[FILL]], %c1 : index
// CHECK: %[[TOKEN:.*]] = arith.subi %[[NEWEST]], %[[AGE]] : index
// CHECK: vector.load %{{.*}}[%[[TOKEN]], %{{.*}}] {{.*}} memref<4x16xf16>, vector<16xf16>
// CHECK: vector.load %{{.*}}[%[[TOKEN]], %{{.*}}] {{.*}} memref<4x32xf16>, vector<32xf16>
// CHECK: %[[OWN:.*]] = memref.load %{{.*}}[%[[TOKEN]], %c0] : memref<4x1xf32>
// CHECK: %[[OLDER:.*]] = arith.mulf %[[SINCE]], %[[OWN]] : f32
// CHECK-NOT: arith.select
// CHECK: %[[SUM:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[ACC]] : vector<32xf32>
// CHECK-NEXT: scf.yield %[[SUM]], %[[OLDER]] : vector<32xf32>, f32
decant.kernel @terms_host(%state: !pool, %q: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"x86-64">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = rolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// A fold: rebuild rows from codes and terms, fit each scale over the other axis,
// then encode with the scales as they will be stored.
// CHECK-LABEL: decant.kernel @fold(
// 1 / 127 and the mean over 32 columns.
// CHECK-DAG: %[[STEP:.*]] = arith.constant dense<0.00787401571> : vector<8xf32>
// CHECK-DAG: %[[MEAN:.*]] = arith.constant dense<3.125000e-02> : vector<1xf32>
// CHECK-DAG: %[[FLOOR:.*]] = arith.constant dense<9.99999996E-13> : vector<1xf32>
// CHECK-DAG: %[[MAX:.*]] = arith.constant dense<1.270000e+02> : vector<8xf32>
// CHECK-DAG: %[[MIN:.*]] = arith.constant dense<-1.270000e+02> : vector<8xf32>
// The new term and the rows' scales (decay times key scale) go to all lanes.
// CHECK: %[[TERM_KEYS:.*]] = decant.scratch : memref<1x16xf32, {{.*}}>
// CHECK: %[[TERM_VALUES:.*]] = decant.scratch : memref<1x32xf32, {{.*}}>
// CHECK: %[[ROW_SCALE:.*]] = decant.scratch : memref<1x16xf32, {{.*}}>
// CHECK: decant.barrier
// First scale: sqrt of the mean |E| of a key row, over the value lanes. One row at a
// time: a round may not reach beyond the rows of one partial sum, and the host forms
// 16 of them over these 16 rows.
// CHECK: scf.for
// CHECK: math.absf
// CHECK: %[[ROWS:.*]] = decant.lane_reduce add %{{.*}} over <value> : vector<1xf32>
// CHECK: %[[AVERAGE:.*]] = arith.mulf %[[ROWS]], %[[MEAN]] : vector<1xf32>
// CHECK: %[[ROOT:.*]] = math.sqrt %[[AVERAGE]] : vector<1xf32>
// CHECK: arith.maximumf %[[ROOT]], %[[FLOOR]] : vector<1xf32>
// CHECK: decant.barrier
// Second scale: the largest |E| / key scale of a column, over the key lanes,
// divided by 127 and rounded to f16 before it is used.
// CHECK: scf.for
// CHECK: arith.maxnumf
// CHECK: %[[COLUMNS:.*]] = decant.lane_reduce max %{{.*}} over <key> : vector<8xf32>
// CHECK: arith.mulf %[[COLUMNS]], %[[STEP]] : vector<8xf32>
// CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xf16>
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// Codes: clamped to -127..127 and rounded to even.
// CHECK: scf.for
// CHECK: arith.minimumf %{{.*}}, %[[MAX]] : vector<8xf32>
// CHECK: arith.maximumf %{{.*}}, %[[MIN]] : vector<8xf32>
// CHECK: arith.trunci %{{.*}} : vector<8xi32> to vector<8xi8>
// CHECK: vector.store %{{.*}} : memref<16x32xi8>, vector<8xi8>
// The new scales replace the old ones when no lane needs those any more.
// CHECK: decant.barrier
// CHECK: vector.store %{{.*}} : memref<1x16xf32>, vector<2xf32>
// CHECK: vector.store %{{.*}} : memref<1x32xf16>, vector<8xf16>
// The window is empty, and the sequence one token longer.
// CHECK: memref.store %c0_i32, %{{.*}}[%c0, %c0] : memref<1x4xi32>
// CHECK: memref.load %{{.*}}[%c0, %c1] : memref<1x2xi64>
decant.kernel @fold(%state: !pool, %q: !rows, %v: !rows, %at: index, %a: f32) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %k = decant.load %q[%at] : !rows -> !key
  %u = decant.load %v[%at] : !rows -> !value
  decant.fold %slot key_decay(%a : f32) keys(%k : !key) values(%u : !value) : !decant.slot
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 13, valueDim = 30, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<13xf32, #decant.axis<key>>
!value = tensor<30xf32, #decant.axis<value>>

// Vector arithmetic of a rule stays what it is, on a lane's elements; a dot
// product is summed in pairs in the lane first, then over the lanes of its axis.
// CHECK-LABEL: decant.kernel @arithmetic(
// CHECK: %[[P:.*]] = arith.mulf %[[X:.*]], %[[X]] : vector<2xf32>
// CHECK: %[[EVEN:.*]], %[[ODD:.*]] = vector.deinterleave %[[P]] : vector<2xf32> -> vector<1xf32>
// CHECK: %[[PAIRS:.*]] = arith.addf %[[EVEN]], %[[ODD]] : vector<1xf32>
// CHECK: %[[S:.*]] = vector.extract %[[PAIRS]][0]
// CHECK: %[[DOT:.*]] = decant.lane_reduce add %[[S]] over <key> : f32
// CHECK: %[[D:.*]] = vector.broadcast %[[DOT]] : f32 to vector<8xf32>
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[V:.*]], %[[D]] : vector<8xf32>
// CHECK: %[[CHOSEN:.*]] = arith.select %[[ABOVE]], %[[V]], %[[D]] : vector<8xi1>, vector<8xf32>
// CHECK: math.exp %[[CHOSEN]] : vector<8xf32>
decant.kernel @arithmetic(%q: !rows, %v: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %x = decant.load %q[%at] : !rows -> !key
  %y = decant.load %v[%at] : !rows -> !value
  %s = decant.dot %x, %x : !key
  %b = decant.broadcast %s : !value
  %above = arith.cmpf ogt, %y, %b : !value
  %z = arith.select %above, %y, %b : tensor<30xi1, #decant.axis<value>>, !value
  %e = math.exp %z : !value
  decant.store %e, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 13, valueDim = 30, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<13xf32, #decant.axis<key>>
!value = tensor<30xf32, #decant.axis<value>>

// Head 0 alone writes the slot's header, from one of its lanes.
// CHECK-LABEL: decant.kernel @header(
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %head, %c0 : index
// CHECK: scf.if %[[FIRST]] {
// CHECK: %[[LANE:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[LANE]], %c0 : index
// CHECK: scf.if %[[ONE]] {
// CHECK: memref.store %c5_i32, %{{.*}}[%c0, %c0] : memref<1x5xi32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%c0, %c1] : memref<1x5xi32>
// CHECK: memref.store %c0_i32, %{{.*}}[%c0, %c4] : memref<1x5xi32>
// CHECK: memref.store %{{.*}}, %{{.*}}[%c0, %c1] : memref<1x2xi64>
decant.kernel @header(%state: !pool, %at: index, %header: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %row, %head = decant.block 4
  %slot = decant.slot %state[%at] : !pool
  decant.touch_header %slot, %state[%header] head %head : !pool
  decant.return
}

// Rows and columns beyond the state are packed as zeros and not unpacked; the
// caller's strides may be anything, so elements go one by one.
// CHECK-LABEL: decant.kernel @pack(
// CHECK: arith.minui %{{.*}}, %c12 : index
// CHECK: arith.cmpi ult, %{{.*}}, %c30 : index
// CHECK: arith.cmpi ule, %{{.*}}, %c12 : index
// CHECK: arith.minui %{{.*}}, %c29 : index
// CHECK: memref.load %dense[
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: vector.store %{{.*}} : memref<16x32xi8>, vector<8xi8>
decant.kernel @pack(%state: !pool, %dense: !rows, %at: index, %ks: index, %vs: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  decant.pack %slot, %dense[%at] strides(%ks, %vs) : !rows
  decant.return
}

// CHECK-LABEL: decant.kernel @unpack(
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c13 : index
// CHECK: %[[END:.*]] = arith.minui %{{.*}}, %c30 : index
// CHECK: scf.if %[[INSIDE]] {
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step %c1 {
// CHECK: memref.store %{{.*}}, %dense[
decant.kernel @unpack(%state: !pool, %dense: !rows, %at: index, %ks: index, %vs: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  decant.unpack %slot, %dense[%at] strides(%ks, %vs) : !rows
  decant.return
}
