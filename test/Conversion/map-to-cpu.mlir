// RUN: decant-opt %s --split-input-file --decant-map-to-cpu --cse | FileCheck %s

// A kernel is a function that runs blocks [first, last), its last two arguments;
// with one lane a sum over lanes is the value itself and a barrier is nothing.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[X:.*]]: f32, %[[OUT:.*]]: memref<1024xf32>, %[[FIRST:.*]]: i64, %[[LAST:.*]]: i64)
// CHECK-DAG: %[[FROM:.*]] = arith.index_cast %[[FIRST]] : i64 to index
// CHECK-DAG: %[[TO:.*]] = arith.index_cast %[[LAST]] : i64 to index
// Scratch is on the stack, once for all blocks.
// CHECK: %[[STACK:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4x16xf32>
// CHECK: scf.for %[[BLOCK:.*]] = %[[FROM]] to %[[TO]] step
// CHECK: %[[ROW:.*]] = arith.divui %[[BLOCK]], %[[HEADS:.*]] : index
// CHECK: %[[HEAD:.*]] = arith.remui %[[BLOCK]], %[[HEADS]] : index
// CHECK: %[[LANE:.*]] = arith.constant 0 : index
// CHECK: scf.if
// CHECK-NEXT: memref.store %[[X]], %[[OUT]][%[[LANE]]]
// CHECK-NEXT: memref.store %[[X]], %[[STACK]][%[[ROW]], %[[HEAD]]]
// CHECK-NEXT: }
// CHECK-NOT: decant.
// CHECK: return
decant.kernel @step(%x: f32, %out: memref<1024xf32>) attributes {lanes = array<i64: 1, 1>, target = #decant.target<"x86-64">} {
  %row, %head = decant.block 4
  %k = decant.lane <key>
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %k, %head : index
  scf.if %first {
    %m = decant.scratch : memref<4x16xf32>
    %y = decant.lane_reduce add %x over <key> : f32
    decant.barrier
    memref.store %y, %out[%k] : memref<1024xf32>
    memref.store %y, %m[%row, %head] : memref<4x16xf32>
  }
  decant.return
}
