// RUN: decant-opt %s --decant-lower-to-host | FileCheck %s --implicit-check-not=llvm.intr.exp --implicit-check-not=llvm.intr.log --implicit-check-not=llvm.call
// RUN: sed -e 's/func.func/gpu.func/;s/return/gpu.return/;s/^module {/module { gpu.module @kernels {/;s/^}/}}/' %s | decant-opt --decant-lower-to-nvvm | FileCheck %s --check-prefix=GPU --implicit-check-not=__nv_ --implicit-check-not=llvm.intr.exp --implicit-check-not=llvm.intr.log

// No call of a math library on either target; the root and the division are
// the correctly rounded ones of the machine.
// CHECK-LABEL: llvm.func @gates
// CHECK: llvm.intr.fma
// CHECK: llvm.intr.sqrt
// CHECK: llvm.fdiv
// CHECK: llvm.intr.fabs
// CHECK: llvm.intr.roundeven
// GPU-LABEL: llvm.func {{.*}}@gates
// GPU: llvm.intr.fma
// GPU: llvm.intr.sqrt
// GPU: llvm.fdiv
// GPU: llvm.intr.fabs
// GPU: llvm.intr.roundeven
module {
  func.func @gates(%x: memref<4xf32>, %first: i64, %last: i64) {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<4xf32>
    %e = math.exp %v : f32
    %e2 = math.exp2 %e : f32
    %l = math.log1p %e2 : f32
    %m = math.expm1 %l : f32
    %t = math.tanh %m : f32
    %q = math.log2 %t : f32
    %p = math.log %q : f32
    %r = math.rsqrt %p : f32
    %a = math.absf %r : f32
    %n = math.roundeven %a : f32
    memref.store %n, %x[%c0] : memref<4xf32>
    return
  }
}
