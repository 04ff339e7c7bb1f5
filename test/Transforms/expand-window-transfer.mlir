// RUN: decant-opt %s --decant-expand-window=kernels=transfer --mlir-print-local-scope | FileCheck %s

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>

// Pack and unpack are a commit and a rebuild with no token. Their window's type
// is that of the step, records and decays included, since they share the slot.
// CHECK-LABEL: decant.kernel @unpack(
// CHECK-SAME: %window: !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 2, records = f16, writes = 2, keyDecay = scalar, valueDecay = none>)
// CHECK: %[[S:.*]] = decant.rebuild %window
// CHECK-NEXT: decant.return %[[S]] : !decant.state<16x16>
// CHECK-LABEL: decant.kernel @pack(
// CHECK-SAME: writes = 2, keyDecay = scalar, valueDecay = none>, %dense: !decant.state<16x16>)
// CHECK: decant.replace %window, %dense
// CHECK-NEXT: decant.return{{$}}
// CHECK-NOT: decant.kernel
decant.decode @two_writes heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 2, records = f16> format <f32> target <"x86-64">
    (%S: !state, %q: !key, %k: !key, %v: !value, %a: f32) {
  %S1 = decant.write %S, %k, %v : !state
  %S2 = decant.decay %S1, %a : !state, f32
  %S3 = decant.write %S2, %q, %v : !state
  %o = decant.read %S, %q : !state
  decant.yield %S3, %o : !state
}
