// RUN: decant-opt %s --split-input-file --decant-map-to-gpu --cse --canonicalize | FileCheck %s

// Sums over the lanes that are not neighbours: which shared memory they use, and
// which of them wait once more so that it can be used again.

// value_first: thread t is value lane t mod 8 and key lane t / 8, so a sum over
// values is three butterfly steps within a warp, and one over keys begins with the
// four key lanes of a warp, at distances 8 and 16.
// CHECK-LABEL: gpu.func @value_first(
// CHECK-SAME: dynamic_shared_bytes = 128 : i64, known_block_size = array<i32: 128, 1, 1>
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[VALUE:.*]] = arith.remui %[[THREAD]], %c8 : index
// CHECK: %[[KEY:.*]] = arith.divui %[[THREAD]], %c8 : index
// CHECK-COUNT-3: gpu.shuffle xor %{{.*}}, %{{c[124]_i32}}
// CHECK-NOT: gpu.barrier
// CHECK: gpu.shuffle xor %{{.*}}, %c8_i32
// CHECK: gpu.shuffle xor %{{.*}}, %c16_i32
// CHECK: memref.view {{.*}} to memref<4x1x8xf32, #gpu.address_space<workgroup>>
// CHECK: %[[GROUP:.*]] = arith.divui %[[KEY]], %c4 : index
// CHECK: vector.store %{{.*}}, %{{.*}}[%[[GROUP]], %c0, %[[VALUE]]]
// CHECK: gpu.barrier
// CHECK-COUNT-4: vector.load
// CHECK: %[[LOW:.*]] = arith.addf
// CHECK: %[[HIGH:.*]] = arith.addf
// CHECK: arith.addf %[[LOW]], %[[HIGH]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[KEY]]]
decant.kernel @value_first(%x: f32, %out: memref<1024xf32>) attributes {
    lanes = array<i64: 16, 8>, value_first, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %v = decant.lane <value>
  %y = decant.lane_reduce add %x over <value> : f32
  %z = decant.lane_reduce add %y over <key> : f32
  memref.store %z, %out[%v] : memref<1024xf32>
  memref.store %z, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// Nine elements are three packs of four, the last of them padded: 4 groups x 3
// packs x 8 lanes x 16 bytes = 1536 bytes. Packs of neighbours lie side by side.
// CHECK-LABEL: gpu.func @packs(
// CHECK-SAME: dynamic_shared_bytes = 1536
// CHECK: memref.view {{.*}} to memref<4x3x32xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-3: vector.store {{.*}} {alignment = 16 : i64} : {{.*}} vector<4xf32>
// CHECK: gpu.barrier
// CHECK-COUNT-12: vector.load {{.*}} {alignment = 16 : i64} : {{.*}} vector<4xf32>
// CHECK-NOT: gpu.barrier
decant.kernel @packs(%x: vector<9xf32>, %out: memref<1024xf32>) attributes {
    lanes = array<i64: 16, 8>, value_first, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce add %x over <key> : vector<9xf32>
  vector.store %y, %out[%k] : memref<1024xf32>, vector<9xf32>
  decant.return
}

// -----

// Two in a row use two areas, so each has one barrier: whoever writes an area for
// the third has passed the second one's. Each area is 4 warps x 8 value lanes x 4 bytes.
// CHECK-LABEL: gpu.func @in_turn(
// CHECK-SAME: dynamic_shared_bytes = 256
// CHECK: %[[ONE:.*]] = memref.view %{{.*}}[%c0][]
// CHECK: vector.store %{{.*}}, %[[ONE]]
// CHECK: gpu.barrier
// CHECK: %[[OTHER:.*]] = memref.view %{{.*}}[%c128][]
// CHECK: vector.store %{{.*}}, %[[OTHER]]
// CHECK: gpu.barrier
// CHECK: vector.store %{{.*}}, %[[ONE]]
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
decant.kernel @in_turn(%x: f32, %out: memref<1024xf32>) attributes {
    lanes = array<i64: 16, 8>, value_first, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %a = decant.lane_reduce add %x over <key> : f32
  %b = decant.lane_reduce max %a over <key> : f32
  %c = decant.lane_reduce add %b over <key> : f32
  memref.store %c, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// A loop comes back to its area, and a branch may be left out: those wait, and so
// does the one before them.
// CHECK-LABEL: gpu.func @loops(
// CHECK-SAME: dynamic_shared_bytes = 128
// CHECK-COUNT-2: gpu.barrier
// CHECK: scf.for
// CHECK-COUNT-2: gpu.barrier
// CHECK: }
// CHECK: scf.if
// CHECK-COUNT-2: gpu.barrier
// CHECK: }
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
decant.kernel @loops(%x: f32, %n: index, %more: i1, %out: memref<1024xf32>) attributes {
    lanes = array<i64: 16, 8>, value_first, target = #decant.target<"sm_90a">} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %k = decant.lane <key>
  %a = decant.lane_reduce add %x over <key> : f32
  %sum = scf.for %i = %zero to %n step %one iter_args(%c = %a) -> f32 {
    %b = decant.lane_reduce add %c over <key> : f32
    scf.yield %b : f32
  }
  scf.if %more {
    %b = decant.lane_reduce add %sum over <key> : f32
    memref.store %b, %out[%k] : memref<1024xf32>
  }
  %d = decant.lane_reduce add %sum over <key> : f32
  memref.store %d, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// Four blocks share a head: block b is slice b mod 4 of head b / 4 mod 2.
// CHECK-LABEL: gpu.func @slices(
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[WHOLE:.*]] = arith.divui %[[BLOCK]], %c4 : index
// CHECK: %[[ROW:.*]] = arith.divui %[[WHOLE]], %c2 : index
// CHECK: %[[HEAD:.*]] = arith.remui %[[WHOLE]], %c2 : index
// CHECK: %[[SLICE:.*]] = arith.remui %{{.*}}, %c4 : index
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[ROW]]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[HEAD]]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[SLICE]]]
decant.kernel @slices(%out: memref<1024xf32>) attributes {
    lanes = array<i64: 8, 4>, target = #decant.target<"sm_90a">} {
  %x = arith.constant 1.0 : f32
  %row, %head = decant.block 2 split 4
  %slice = decant.slice 4
  memref.store %x, %out[%row] : memref<1024xf32>
  memref.store %x, %out[%head] : memref<1024xf32>
  memref.store %x, %out[%slice] : memref<1024xf32>
  decant.return
}

// -----

// Nine sums over 16 lanes, of which two sets share a warp. Eight are formed by one
// lane each: at distance 1 odd lanes keep the upper four and give the lower ones, and
// so on, 4 + 2 + 1 + 1 shuffles beside the ninth's 4; then every lane gets all of them
// from the lanes of its set. Element 1 went to the upper quarter, eighth and so on:
// lane 4 has it, lane 2 element 2, lane 6 element 3, lane 1 element 4.
// CHECK-LABEL: gpu.func @scattered(
// CHECK-SAME: dynamic_shared_bytes = 0
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[LANE:.*]] = arith.remui %[[THREAD]], %c16 : index
// CHECK: %[[OUTER:.*]] = arith.divui %[[THREAD]], %c16 : index
// CHECK: %[[LOW:.*]] = vector.extract %{{.*}}[0]
// CHECK: %[[HIGH:.*]] = vector.extract %{{.*}}[4]
// CHECK: %[[L:.*]] = arith.index_cast %[[LANE]] : index to i32
// CHECK: %[[BIT:.*]] = arith.andi %[[L]], %c1_i32
// CHECK: %[[ODD:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK: %[[KEPT:.*]] = arith.select %[[ODD]], %[[HIGH]], %[[LOW]] : f32
// CHECK: %[[GIVEN:.*]] = arith.select %[[ODD]], %[[LOW]], %[[HIGH]] : f32
// CHECK: %[[GOT:.*]], %{{.*}} = gpu.shuffle xor %[[GIVEN]], %c1_i32
// CHECK: arith.addf %[[KEPT]], %[[GOT]] : f32
// CHECK-COUNT-4: gpu.shuffle xor %{{.*}}, %c1_i32
// CHECK-COUNT-3: gpu.shuffle xor %{{.*}}, %c2_i32
// CHECK-COUNT-2: gpu.shuffle xor %{{.*}}, %c4_i32
// CHECK-COUNT-2: gpu.shuffle xor %{{.*}}, %c8_i32
// CHECK: %[[BASE:.*]] = arith.andi %{{.*}}, %c16_i32 : i32
// CHECK: gpu.shuffle idx %[[SUM:.*]], %[[BASE]], %c32_i32
// CHECK: %[[FOUR:.*]] = arith.ori %[[BASE]], %c4_i32
// CHECK: gpu.shuffle idx %[[SUM]], %[[FOUR]], %c32_i32
// CHECK: %[[TWO:.*]] = arith.ori %[[BASE]], %c2_i32
// CHECK: gpu.shuffle idx %[[SUM]], %[[TWO]], %c32_i32
// CHECK: arith.ori %[[BASE]], %c6_i32
// CHECK: arith.ori %[[BASE]], %c1_i32
// CHECK-COUNT-4: gpu.shuffle idx %[[SUM]]
// CHECK-NOT: gpu.shuffle
decant.kernel @scattered(%x: vector<9xf32>, %out: memref<1024xf32>) attributes {
    lanes = array<i64: 16, 8>, target = #decant.target<"sm_90a">} {
  %k = decant.lane <key>
  %y = decant.lane_reduce add %x over <key> : vector<9xf32>
  vector.store %y, %out[%k] : memref<1024xf32>, vector<9xf32>
  decant.return
}
