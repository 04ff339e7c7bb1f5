// RUN: decant-opt %s --decant-lower-to-nvvm | FileCheck %s

// Bare pointers, 64-bit offsets, the block size as a requirement; shared memory
// is declared, so that the launch gives its size.
// CHECK: llvm.mlir.global external @[[SHARED:[^(]+]]() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func @step(
// CHECK-SAME: %[[STATE:.*]]: !llvm.ptr<1>, %[[OUT:.*]]: !llvm.ptr<1>, %[[STRIDE:.*]]: i64)
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.reqntid = array<i32: 64, 1, 1>
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: llvm.mul {{.*}} : i64
// CHECK: llvm.getelementptr {{.*}}%[[STATE]][{{.*}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: nvvm.shfl.sync bfly
// CHECK: llvm.mlir.addressof @[[SHARED]]
// CHECK: nvvm.barrier
// CHECK: llvm.fptrunc {{.*}} : f32 to bf16

// A function that kernels call stays one.
// CHECK-LABEL: llvm.func internal @part(
// CHECK-SAME: !llvm.ptr<1>, %[[AT:.*]]: i64) attributes {convergent, no_inline}
// Constants leave addresses: (at + 2) * 3 + 1 floats into the rows of byte 64 are
// 92 bytes beyond 3 at.
// CHECK: %[[THREE:.*]] = llvm.mul %[[AT]], %{{.*}} : i64
// CHECK: %[[BASE:.*]] = llvm.getelementptr %{{.*}}[%[[THREE]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[BASE]][92] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK: llvm.store %{{.*}}, %[[PLACE]]
// CHECK-LABEL: llvm.func @whole(
// CHECK: llvm.call @part(%{{.*}}, %{{.*}}) {convergent} : (!llvm.ptr<1>, i64) -> ()
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @step(%state: memref<70368744177664xi8, #gpu.address_space<global>>,
                   %out: memref<70368744177664xbf16, #gpu.address_space<global>>,
                   %stride: i64) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : i32
      %c32 = arith.constant 32 : i32
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %row = arith.index_cast %b : index to i64
      %byte64 = arith.muli %row, %stride : i64
      %byte = arith.index_cast %byte64 : i64 to index
      %floats = memref.view %state[%byte][] : memref<70368744177664xi8, #gpu.address_space<global>> to memref<1099511627776xf32, #gpu.address_space<global>>
      %x = vector.load %floats[%t] {alignment = 16} : memref<1099511627776xf32, #gpu.address_space<global>>, vector<4xf32>
      %sum = vector.reduction <add>, %x : vector<4xf32> into f32
      %other, %valid = gpu.shuffle xor %sum, %c1, %c32 : f32
      %smem = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %shared = memref.view %smem[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %other, %shared[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %back = memref.load %shared[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
      %narrow = arith.truncf %back : f32 to bf16
      memref.store %narrow, %out[%t] : memref<70368744177664xbf16, #gpu.address_space<global>>
      gpu.return
    }
    func.func @part(%state: memref<70368744177664xi8, #gpu.address_space<global>>, %at64: i64) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c64 = arith.constant 64 : index
      %x = arith.constant 1.0 : f32
      %at = arith.index_cast %at64 : i64 to index
      %rows = memref.view %state[%c64][] : memref<70368744177664xi8, #gpu.address_space<global>> to memref<100x3xf32, #gpu.address_space<global>>
      %row = arith.addi %at, %c2 : index
      memref.store %x, %rows[%row, %c1] : memref<100x3xf32, #gpu.address_space<global>>
      return
    }
    gpu.func @whole(%state: memref<70368744177664xi8, #gpu.address_space<global>>, %at: i64) kernel {
      func.call @part(%state, %at) : (memref<70368744177664xi8, #gpu.address_space<global>>, i64) -> ()
      gpu.return
    }
  }
}
