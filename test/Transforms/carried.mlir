// RUN: split-file %s %t
// RUN: decant-opt %t/sum.mlir --decant-expand-window | FileCheck %t/sum.mlir
// RUN: decant-opt %t/sum.mlir --decant-expand-window --decant-materialize-format --mlir-print-local-scope | FileCheck %t/sum.mlir --check-prefix=BYTES
// RUN: decant-opt %t/sum.mlir --decant-expand-window --decant-materialize-format --decant-assign-schedule --decant-tile-kernel --decant-verify-stage=stage=tiled | FileCheck %t/sum.mlir --check-prefix=TILED
// RUN: decant-opt %t/transfer.mlir --decant-expand-window=kernels=transfer --verify-diagnostics

//--- sum.mlir

// The sum of all keys, and a constant of the layer. What is carried is read before
// and replaced after the token's work, whatever the window does.
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: carried = 1>
// CHECK-SAME: %k: tensor<16xf32, #decant.axis<key>>, %v: tensor<16xf32, #decant.axis<value>>, %u: tensor<16xf32, #decant.axis<key>> {layer}, %w: f32 {gate})
// CHECK-NEXT: %[[Z:.*]] = decant.carried %window[0]
// CHECK: %[[Z1:.*]] = arith.addf %[[Z]], %k
// CHECK: decant.carry %window[0], %[[Z1]]
// CHECK-NEXT: decant.append
// A row of the gate's type, and f32 without rows; 64 bytes behind the cursor.
// BYTES: decant.kernel @step(
// BYTES-SAME: %u: memref<{{[0-9]+}}xf32, {{.*}}>, %w: memref<{{[0-9]+}}xf16, {{.*}}>, %out:
// BYTES-NOT: %u_stride
// BYTES-SAME: %w_stride: i64
// BYTES-SAME: carried = 1,
// BYTES-SAME: carried = #decant.region<{{[0-9]+}}, 1 x 16, f32>
// No lane replaces what another has yet to read.
// TILED: decant.kernel @step
// TILED: decant.barrier
// TILED: vector.store {{.*}} memref<1x16xf32
decant.decode @sum heads <key = 1, value = 2, map = group>
    inputs <type = bf16, gate = f16, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 0, records = f16> format <f32> target <"sm_90a">
    (%S: !state, %z: !key {carried}, %q: !key, %k: !key, %v: !value, %u: !key {layer}, %w: f32 {gate}) {
  %z1 = arith.addf %z, %k : !key
  %x = arith.mulf %q, %z1 : !key
  %y = arith.mulf %x, %u : !key
  %s = decant.scale %y, %w : !key
  %S1 = decant.write %S, %k, %v : !state
  %o = decant.read %S1, %s : !state
  decant.yield %S1, %o, %z1 : !state
}

//--- transfer.mlir

// A dense state has no place for it.
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
// expected-error @+1 {{rule @sum carries 1 key vector(s) beside its state, which pack and unpack do not move; copy whole slots instead}}
decant.decode @sum heads <key = 1, value = 2, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"sm_90a">
    (%S: !state, %z: !key {carried}, %q: !key, %k: !key, %v: !value) {
  %z1 = arith.addf %z, %k : !key
  %S1 = decant.write %S, %k, %v : !state
  %o = decant.read %S1, %z1 : !state
  decant.yield %S1, %o, %z1 : !state
}
