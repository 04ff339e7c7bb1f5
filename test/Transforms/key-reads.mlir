// RUN: decant-opt %s --decant-expand-window | FileCheck %s
// RUN: decant-opt %s --decant-expand-window --decant-materialize-format=code-order=fragments --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=SCHEDULED
// RUN: not decant-opt %s --decant-expand-window --decant-materialize-format=code-order=fragments '--decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=1,keys_per_lane=1,values_per_lane=16,rows=unrolled"' 2>&1 | FileCheck %s --check-prefix=MMA
// RUN: decant-opt %s --decant-expand-window --decant-materialize-format --decant-assign-schedule --decant-tile-kernel --decant-verify-stage=stage=tiled | FileCheck %s --check-prefix=TILED

// A read along the value axis: a scalar decay multiplies its result, and the token's
// own write adds its share, r (v . v).
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
// CHECK-LABEL: decant.kernel @step(
// CHECK: %[[Y:.*]] = decant.window_read_key %window, %v :
// CHECK: %[[D:.*]] = decant.scale %[[Y]], %a : tensor<16xf32, #decant.axis<key>>
// CHECK: %[[R:.*]] = arith.subf %k, %[[D]]
// CHECK: decant.window_read_key %window, %v :
// CHECK: %[[W:.*]] = decant.dot %v, %v : tensor<16xf32, #decant.axis<value>>
// CHECK: %[[O:.*]] = decant.scale %[[R]], %[[W]] : tensor<16xf32, #decant.axis<key>>
// CHECK: arith.addf {{.*}}, %[[O]] : tensor<16xf32, #decant.axis<key>>
// Tensor cores do not serve it, although codes and records would suit them.
// SCHEDULED: decant.kernel @step
// SCHEDULED-SAME: strategy = simt
// SCHEDULED: decant.kernel @commit
// SCHEDULED-SAME: strategy = simt
// MMA: error: schedule <strategy = mma, {{.*}}>: strategy mma has no reads along the value axis, which the rule asks for
// One sum over the lanes of the value axis for all rows of a lane.
// TILED: decant.kernel @step
// TILED: decant.lane_reduce add {{.*}} <value>
decant.decode @oja heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 2, records = f16> format <i8, <value, absmax, f32>> target <"sm_90a">
    (%S: !state, %q: !key, %k: !key, %v: !value, %a: f32) {
  %S1 = decant.decay %S, %a : !state, f32
  %p = decant.read_key %S1, %v : !state
  %r = arith.subf %k, %p : !key
  %S2 = decant.write %S1, %r, %v : !state
  %after = decant.read_key %S2, %v : !state
  %x = arith.mulf %q, %after : !key
  %o = decant.read %S2, %x : !state
  decant.yield %S2, %o : !state
}
