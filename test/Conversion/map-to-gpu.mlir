// RUN: decant-opt %s --split-input-file --decant-map-to-gpu --cse | FileCheck %s

// Thread t of 64 is key lane t mod 8 and value lane t / 8; block b of a row with
// 4 heads is head b mod 4.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @lanes(%[[OUT:.*]]: memref<1024xf32>) kernel attributes {dynamic_shared_bytes = 0 : i64, known_block_size = array<i32: 64, 1, 1>}
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: %[[KEY:.*]] = arith.remui %[[THREAD]], %[[EIGHT]] : index
// CHECK: %[[VALUE:.*]] = arith.divui %[[THREAD]], %[[EIGHT]] : index
// CHECK-NOT: gpu.dynamic_shared_memory
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[HEADS:.*]] = arith.constant 4 : index
// CHECK: %[[ROW:.*]] = arith.divui %[[BLOCK]], %[[HEADS]] : index
// CHECK: %[[HEAD:.*]] = arith.remui %[[BLOCK]], %[[HEADS]] : index
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[KEY]]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[VALUE]]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[ROW]]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[HEAD]]]
// CHECK: gpu.return
// CHECK-NOT: decant.
decant.kernel @lanes(%out: memref<1024xf32>) attributes {lanes = array<i64: 8, 8>, target = #decant.target<"sm_90a">} {
  %one = arith.constant 1.0 : f32
  %row, %head = decant.block 4
  %k = decant.lane <key>
  %v = decant.lane <value>
  memref.store %one, %out[%k] : memref<1024xf32>
  memref.store %one, %out[%v] : memref<1024xf32>
  memref.store %one, %out[%row] : memref<1024xf32>
  memref.store %one, %out[%head] : memref<1024xf32>
  decant.return
}

// -----

// Key lanes are neighbours in one warp: three butterfly steps for eight of them,
// no shared memory and no barrier, so every lane adds the same pairs.
// CHECK-LABEL: gpu.func @over_keys(
// CHECK-SAME: %[[X:.*]]: f32, {{.*}}dynamic_shared_bytes = 0
// CHECK-DAG: %[[D1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[WARP:.*]] = arith.constant 32 : i32
// CHECK: %[[S1:.*]], %{{.*}} = gpu.shuffle xor %[[X]], %[[D1]], %[[WARP]] : f32
// CHECK: %[[A1:.*]] = arith.addf %[[X]], %[[S1]] : f32
// CHECK: %[[D2:.*]] = arith.constant 2 : i32
// CHECK: %[[S2:.*]], %{{.*}} = gpu.shuffle xor %[[A1]], %[[D2]], %[[WARP]] : f32
// CHECK: %[[A2:.*]] = arith.addf %[[A1]], %[[S2]] : f32
// CHECK: %[[D4:.*]] = arith.constant 4 : i32
// CHECK: %[[S4:.*]], %{{.*}} = gpu.shuffle xor %[[A2]], %[[D4]], %[[WARP]] : f32
// CHECK: %[[A4:.*]] = arith.addf %[[A2]], %[[S4]] : f32
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: memref.store %[[A4]]
decant.kernel @over_keys(%x: f32, %out: memref<1024xf32>) attributes {lanes = array<i64: 8, 8>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce add %x over <key> : f32
  memref.store %y, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// Four value lanes share a warp with eight key lanes: shuffles over distances 8
// and 16 are enough.
// CHECK-LABEL: gpu.func @over_values_of_a_warp(
// CHECK-SAME: dynamic_shared_bytes = 0
// CHECK: arith.constant 8 : i32
// CHECK: gpu.shuffle xor
// CHECK: arith.maxnumf
// CHECK: arith.constant 16 : i32
// CHECK: gpu.shuffle xor
// CHECK: arith.maxnumf
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
decant.kernel @over_values_of_a_warp(%x: f32, %out: memref<1024xf32>) attributes {lanes = array<i64: 8, 4>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce max %x over <value> : f32
  memref.store %y, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// Two warps: after the shuffles one lane per warp and key leaves its sum, and all
// lanes add the warps' sums in one order. The elements of a lane lie side by side:
// 2 warps x 8 keys x 2 elements x 4 bytes are 128 bytes.
// CHECK-LABEL: gpu.func @across_warps(
// CHECK-SAME: dynamic_shared_bytes = 128
// CHECK: %[[SHARED:.*]] = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK: %[[AREA:.*]] = memref.view %[[SHARED]][%{{.*}}][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<2x1x16xf32, #gpu.address_space<workgroup>>
// CHECK: %[[AT:.*]] = arith.muli %{{.*}}, %c2 : index
// CHECK: %[[PACK:.*]] = vector.from_elements
// CHECK: %[[GROUP:.*]] = arith.divui %[[LANE:.*]], %[[FOUR:.*]] : index
// CHECK: %[[WITHIN:.*]] = arith.remui %[[LANE]], %[[FOUR]] : index
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[WITHIN]], %{{.*}} : index
// CHECK: scf.if %[[FIRST]] {
// CHECK: vector.store %[[PACK]], %[[AREA]][%[[GROUP]], %{{.*}}, %[[AT]]] {alignment = 8 : i64}
// CHECK: }
// CHECK: gpu.barrier
// CHECK: %[[A0:.*]] = vector.load %[[AREA]]
// CHECK: %[[A1:.*]] = vector.load %[[AREA]]
// CHECK: %[[SUM:.*]] = arith.addf %[[A0]], %[[A1]] : vector<2xf32>
// CHECK: %[[SUM0:.*]] = vector.extract %[[SUM]][0]
// CHECK: %[[SUM1:.*]] = vector.extract %[[SUM]][1]
// Nothing follows that uses the area again.
// CHECK-NOT: gpu.barrier
// CHECK: vector.from_elements %[[SUM0]], %[[SUM1]] : vector<2xf32>
decant.kernel @across_warps(%x: vector<2xf32>, %out: memref<1024xf32>) attributes {lanes = array<i64: 8, 8>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce add %x over <value> : vector<2xf32>
  vector.store %y, %out[%k] : memref<1024xf32>, vector<2xf32>
  decant.return
}

// -----

// 16 x 3 lanes leave the second warp half empty: a shuffle between value lanes
// would ask lanes that do not exist, so each value lane is a group of its own.
// 3 groups x 16 keys x 4 bytes = 192.
// CHECK-LABEL: gpu.func @half_a_warp(
// CHECK-SAME: dynamic_shared_bytes = 192 : i64, known_block_size = array<i32: 48, 1, 1>
// CHECK-NOT: gpu.shuffle
// CHECK: memref<3x1x16xf32, #gpu.address_space<workgroup>>
decant.kernel @half_a_warp(%x: f32, %out: memref<1024xf32>) attributes {lanes = array<i64: 16, 3>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce add %x over <value> : f32
  memref.store %y, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// Scratch arrays follow one another at multiples of 16 bytes: 3 * 4 = 12 -> 16,
// then 64; the area of the sums, 2 * 8 * 4 bytes, comes last. Ops inside loops
// and branches are mapped, too.
// CHECK-LABEL: gpu.func @scratch(
// CHECK-SAME: dynamic_shared_bytes = 144
// CHECK: memref.view %{{.*}}[%[[AT0:.*]]][] : {{.*}} to memref<1x3xf32, #gpu.address_space<workgroup>>
// CHECK: %[[AT16:.*]] = arith.constant 16 : index
// CHECK: memref.view %{{.*}}[%[[AT16]]][] : {{.*}} to memref<2x8xf32, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: %[[AT80:.*]] = arith.constant 80 : index
// CHECK: memref.view %{{.*}}[%[[AT80]]][] : {{.*}} to memref<2x1x8xf32, #gpu.address_space<workgroup>>
decant.kernel @scratch(%x: f32, %n: index) attributes {lanes = array<i64: 8, 8>, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = decant.scratch : memref<1x3xf32, #gpu.address_space<workgroup>>
  %b = decant.scratch : memref<2x8xf32, #gpu.address_space<workgroup>>
  scf.for %i = %zero to %n step %one {
    decant.barrier
    %y = decant.lane_reduce add %x over <value> : f32
    memref.store %y, %a[%zero, %zero] : memref<1x3xf32, #gpu.address_space<workgroup>>
    memref.store %y, %b[%zero, %zero] : memref<2x8xf32, #gpu.address_space<workgroup>>
  }
  decant.return
}

// -----

// A function that kernels call; the caller brings the shared memory of both, one
// laid over the other.
// CHECK-LABEL: func.func @half(
// CHECK: gpu.dynamic_shared_memory
// CHECK: return
// CHECK-LABEL: gpu.func @caller(
// CHECK-SAME: dynamic_shared_bytes = 64 : i64
// CHECK: func.call @half(%{{.*}}, %{{.*}}) : (memref<16xf32>, i64) -> ()
decant.kernel @half(%out: memref<16xf32>, %at: i64)
    attributes {called, lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %i = arith.index_cast %at : i64 to index
  %s = decant.scratch : memref<1x16xf32, #gpu.address_space<workgroup>>
  %x = memref.load %s[%i, %i] : memref<1x16xf32, #gpu.address_space<workgroup>>
  memref.store %x, %out[%i] : memref<16xf32>
  decant.return
}
decant.kernel @caller(%out: memref<16xf32>, %at: i64)
    attributes {lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %i = arith.index_cast %at : i64 to index
  %s = decant.scratch : memref<1x8xf32, #gpu.address_space<workgroup>>
  %x = memref.load %s[%i, %i] : memref<1x8xf32, #gpu.address_space<workgroup>>
  memref.store %x, %out[%i] : memref<16xf32>
  decant.barrier
  decant.call @half(%out, %at) : memref<16xf32>, i64
  decant.return
}

// -----

// A kernel that may begin while the one ahead of it ends waits for that before it
// touches memory, and lets the next begin.
// CHECK-LABEL: gpu.func @early(
// CHECK-SAME: dependent_launch
// CHECK-NOT: memref
// CHECK: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK: memref.store
decant.kernel @early(%out: memref<16xf32>)
    attributes {dependent_launch, lanes = array<i64: 32, 1>, target = #decant.target<"sm_90a">} {
  %row, %head = decant.block 4
  %x = arith.constant 1.0 : f32
  memref.store %x, %out[%row] : memref<16xf32>
  decant.return
}
