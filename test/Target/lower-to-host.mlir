// RUN: decant-opt %s --decant-lower-to-host | FileCheck %s

// The block range stays two trailing integers; bf16 is made by integer
// arithmetic, since x86-64 has no conversion that every processor shares.
// CHECK-LABEL: llvm.func @step(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
// CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK-NOT: llvm.fptrunc
// CHECK: llvm.lshr {{.*}} : vector<8xi32>
// CHECK: llvm.trunc {{.*}} : vector<8xi32> to vector<8xi16>
// CHECK: llvm.store {{.*}} : vector<8xbf16>, !llvm.ptr
func.func @step(%in: memref<1048576xf32>, %out: memref<1048576xbf16>, %first: i64, %last: i64) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %from = arith.index_cast %first : i64 to index
  %to = arith.index_cast %last : i64 to index
  scf.for %b = %from to %to step %c1 {
    %i = arith.muli %b, %c8 : index
    %x = vector.load %in[%i] {alignment = 4} : memref<1048576xf32>, vector<8xf32>
    %n = arith.truncf %x : vector<8xf32> to vector<8xbf16>
    vector.store %n, %out[%i] {alignment = 2} : memref<1048576xbf16>, vector<8xbf16>
  }
  return
}
