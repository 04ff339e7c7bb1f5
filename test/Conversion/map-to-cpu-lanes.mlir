// RUN: decant-opt %s --split-input-file --decant-map-to-cpu --cse | FileCheck %s
// RUN: decant-opt %s --split-input-file --decant-map-to-cpu --decant-lower-to-host | FileCheck %s --check-prefix=LLVM

// Everything between two barriers is one loop over the lanes; what is the same
// for all lanes is outside. Thread t is key lane t mod 8. A value that is used
// on both sides of a barrier is in a buffer; one that is not, is not. Lane
// numbers and views are made again.
// CHECK-LABEL: func.func @barrier(
// CHECK-SAME: %[[X:.*]]: memref<1024xf32>
// CHECK: %[[HEAP:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xi8>
// CHECK: %[[KEPT:.*]] = memref.view %[[HEAP]][%{{.*}}][] : memref<?xi8> to memref<32xf32>
// CHECK-NOT: memref.view
// CHECK: scf.for
// CHECK: %[[U:.*]] = memref.load %[[X]][%{{.*}}]
// CHECK: scf.for %[[LANE:.*]] = %{{.*}} to %[[N:.*]] step
// CHECK: %[[K:.*]] = arith.remui %[[LANE]], %[[EIGHT:.*]] : index
// CHECK: %[[F:.*]] = memref.load %[[X]][%[[K]]]
// CHECK: memref.store %[[F]], %[[KEPT]][%[[LANE]]]
// CHECK: %[[G:.*]] = arith.addf %[[F]], %[[U]]
// CHECK: %[[V:.*]] = arith.divui %[[LANE]], %[[EIGHT]] : index
// CHECK: memref.store %[[G]], %{{.*}}[%[[V]], %[[K]]]
// CHECK-NEXT: }
// CHECK: scf.for %[[LANE:.*]] = %{{.*}} to %[[N]] step
// CHECK: %[[K:.*]] = arith.remui %[[LANE]]
// CHECK: memref.load %[[KEPT]][%[[LANE]]]
// CHECK: memref.view %{{.*}}[%[[K]]][]
// CHECK: memref.dealloc %[[HEAP]]
// CHECK-NOT: decant.
// LLVM-LABEL: llvm.func @barrier(
// LLVM: llvm.call @malloc
// LLVM: llvm.call @free
decant.kernel @barrier(%x: memref<1024xf32>, %bytes: memref<4096xi8>) attributes {lanes = array<i64: 8, 4>, target = #decant.target<"x86-64">} {
  %zero = arith.constant 0 : index
  %k = decant.lane <key>
  %v = decant.lane <value>
  %m = decant.scratch : memref<4x8xf32>
  %view = memref.view %bytes[%k][] : memref<4096xi8> to memref<16xf32>
  %f = memref.load %x[%k] : memref<1024xf32>
  %u = memref.load %x[%zero] : memref<1024xf32>
  %g = arith.addf %f, %u : f32
  memref.store %g, %m[%v, %k] : memref<4x8xf32>
  decant.barrier
  %o = memref.load %m[%zero, %k] : memref<4x8xf32>
  %h = arith.addf %f, %o : f32
  memref.store %h, %view[%v] : memref<16xf32>
  decant.return
}

// -----

// A read that is the same for all lanes waits for what they have to write, and
// not for what they have to read. No value is kept, so nothing is allocated.
// CHECK-LABEL: func.func @order(
// CHECK-NOT: memref.alloc(
// CHECK: memref.load %[[X:.*]][%[[ZERO:.*]]]
// CHECK: scf.for %[[LANE:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT: memref.load %[[X]][%[[LANE]]]
// CHECK: memref.store
// CHECK-NEXT: }
// CHECK: memref.load %[[X]][%[[ZERO]]]
// CHECK: scf.for
// CHECK-NOT: memref.dealloc
decant.kernel @order(%x: memref<1024xf32>, %out: memref<1024xf32>) attributes {lanes = array<i64: 8, 1>, target = #decant.target<"x86-64">} {
  %zero = arith.constant 0 : index
  %k = decant.lane <key>
  %f = memref.load %x[%k] : memref<1024xf32>
  %u = memref.load %x[%zero] : memref<1024xf32>
  %g = arith.addf %f, %u : f32
  memref.store %g, %x[%k] : memref<1024xf32>
  %w = memref.load %x[%zero] : memref<1024xf32>
  memref.store %w, %out[%k] : memref<1024xf32>
  decant.return
}

// -----

// A sum over 8 key lanes is a tree, distances 1, 2, 4, in place; each lane reads
// that of its first neighbour. The loop's rounds are the same for all lanes, and
// so is the value that it carries beside the sum.
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step
// CHECK: scf.for %[[LANE:.*]] =
// CHECK: memref.store %{{.*}}, %[[CARRIED:.*]][%[[LANE]]] : memref<32xf32>
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK: scf.for %[[LANE:.*]] =
// CHECK: %[[A:.*]] = memref.load %[[CARRIED]][%[[LANE]]]
// CHECK-NEXT: memref.store %[[A]], %[[SUMS:.*]][%[[LANE]]]
// CHECK-COUNT-2: scf.for
// CHECK-COUNT-3: scf.for
// CHECK-NOT: scf.for
// CHECK: scf.for %[[LANE:.*]] =
// CHECK: %[[K:.*]] = arith.remui %[[LANE]]
// CHECK: %[[BASE:.*]] = arith.muli %[[K]]
// CHECK: arith.addi %[[BASE]], %[[I]]
// CHECK: %[[FIRST:.*]] = arith.subi %[[LANE]], %[[K]]
// CHECK: memref.load %[[SUMS]][%[[FIRST]]]
// CHECK: memref.store %{{.*}}, %[[CARRIED]][%[[LANE]]]
// CHECK: scf.yield %{{.*}} : f32
decant.kernel @loop(%x: memref<1024xf32>, %c: f32) attributes {lanes = array<i64: 8, 4>, target = #decant.target<"x86-64">} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %k = decant.lane <key>
  %first = arith.muli %k, %eight : index
  %last = arith.addi %first, %eight : index
  %f = memref.load %x[%k] : memref<1024xf32>
  %r:2 = scf.for %i = %first to %last step %one iter_args(%a = %f, %n = %c) -> (f32, f32) {
    %s = decant.lane_reduce add %a over <key> : f32
    %w = memref.load %x[%i] : memref<1024xf32>
    %t = arith.addf %s, %w : f32
    %m = arith.addf %n, %c : f32
    scf.yield %t, %m : f32, f32
  }
  %y = arith.addf %r#0, %r#1 : f32
  memref.store %y, %x[%k] : memref<1024xf32>
  decant.return
}

// -----

// The matrices of two warps, in f32: products of halves are exact in it.
// CHECK-LABEL: func.func @product(
// CHECK-DAG: memref.view %{{.*}} : memref<?xi8> to memref<2x16x16xf32>
// CHECK-DAG: memref.view %{{.*}} : memref<?xi8> to memref<2x16x8xf32>
// CHECK: scf.for
// CHECK: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK: scf.for %[[WARP:.*]] =
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: vector.load %[[ACC:.*]][%[[WARP]], %[[ROW]], %{{.*}}] : memref<2x16x8xf32>, vector<8xf32>
// CHECK: vector.fma
// CHECK: vector.store %{{.*}}, %[[ACC]][%[[WARP]], %[[ROW]], %{{.*}}]
// CHECK: scf.for
// CHECK: vector.from_elements %{{.*}} : vector<4xf32>
// LLVM-LABEL: llvm.func @product(
// LLVM-NOT: llvm.fpext %{{.*}} : vector<8xbf16>
decant.kernel @product(%a: memref<64x8xbf16>, %b: memref<64x4xbf16>, %c: memref<64x4xf32>) attributes {lanes = array<i64: 32, 2>, target = #decant.target<"x86-64">} {
  %zero = arith.constant 0 : index
  %k = decant.lane <key>
  %x = vector.load %a[%k, %zero] : memref<64x8xbf16>, vector<8xbf16>
  %y = vector.load %b[%k, %zero] : memref<64x4xbf16>, vector<4xbf16>
  %z = vector.load %c[%k, %zero] : memref<64x4xf32>, vector<4xf32>
  %d = decant.mma %x, %y, %z : vector<8xbf16>, vector<4xbf16>, vector<4xf32>
  vector.store %d, %c[%k, %zero] : memref<64x4xf32>, vector<4xf32>
  decant.return
}
