// RUN: split-file %s %t
// RUN: decant-opt %t/rule.mlir --decant-verify-stage=stage=rule
// RUN: decant-opt %t/rule.mlir --decant-expand-window --decant-verify-stage=stage=windowed
// RUN: decant-opt %t/rule.mlir --decant-expand-window=kernels=transfer --decant-verify-stage=stage=windowed
// RUN: decant-opt %t/rule.mlir --decant-expand-window --decant-materialize-format --decant-verify-stage=stage=formatted
// RUN: decant-opt %t/rule.mlir --decant-expand-window --decant-materialize-format --decant-assign-schedule --decant-verify-stage=stage=scheduled
// RUN: decant-opt %t/rule.mlir --decant-expand-window --decant-materialize-format --decant-assign-schedule --decant-tile-kernel --decant-verify-stage=stage=tiled
// RUN: decant-opt %t/rule.mlir --decant-expand-window --decant-materialize-format --decant-assign-schedule --decant-tile-kernel --decant-map-to-gpu --decant-verify-stage=stage=mapped
// RUN: decant-opt %t/wide.mlir --decant-verify-stage=stage=formatted | FileCheck %t/wide.mlir

//--- rule.mlir

// Every pass leaves what its stage may have, and nothing else.
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
decant.decode @delta heads <key = 1, value = 2, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 2, records = f16> format <i8, <value, absmax, f32>> target <"sm_90a">
    (%S: !state, %q: !key, %k: !key, %v: !value, %decay: f32, %beta: f32) {
  %a = math.exp %decay : f32
  %S1 = decant.decay %S, %a : !state, f32
  %p = decant.read %S1, %k : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}

//--- wide.mlir

// A slot number may be compared as it is and widened; that is all.
// CHECK-LABEL: decant.kernel @wide
decant.kernel @wide(%slots: memref<1024xi32>, %at: index) {
  %slot = memref.load %slots[%at] : memref<1024xi32>
  %zero = arith.constant 0 : i32
  %live = arith.cmpi sge, %slot, %zero : i32
  %number = arith.index_cast %slot : i32 to index
  %stride = arith.constant 2097152 : index
  %offset = arith.muli %number, %stride : index
  decant.return
}
