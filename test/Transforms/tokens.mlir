// RUN: decant-opt %s --decant-expand-window | FileCheck %s
// RUN: decant-opt %s --decant-expand-window --decant-materialize-format --mlir-print-local-scope | FileCheck %s --check-prefix=BYTES
// RUN: decant-opt %s --decant-expand-window --decant-materialize-format --decant-assign-schedule --decant-tile-kernel --decant-verify-stage=stage=tiled | FileCheck %s --check-prefix=TILED

// Up to two tokens of a row per step. What one of them does reads the window after the
// drafts before it; room is made for all of them, and folds count those to come.
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
// CHECK-LABEL: decant.kernel @step(%window: !decant.window<
// CHECK-SAME: tokens = 2>, %token: index, %tokens: index, %q:
// CHECK-NEXT: decant.make_room %window for %tokens
// CHECK-NEXT: %[[NOW:.*]] = decant.after %window drafts %token
// CHECK: decant.window_read %[[NOW]]
// CHECK: decant.append %[[NOW]]
// CHECK-NOT: decant.make_room
// CHECK-LABEL: decant.kernel @commit(
// CHECK-SAME: %min_fill: i64, %tokens: index)
// CHECK-NEXT: %[[FILL:.*]] = decant.fill
// CHECK-NEXT: %[[MORE:.*]] = arith.index_cast %tokens
// CHECK-NEXT: %[[THEN:.*]] = arith.addi %[[FILL]], %[[MORE]]
// CHECK-NEXT: arith.cmpi sge, %[[THEN]], %min_fill
// CHECK-LABEL: decant.kernel @accept(
// CHECK-NEXT: decant.accept %window, %accepted

// A place of the total decay for what each draft leaves; inputs by token, packed.
// BYTES: decant.kernel @step(%state: {{.*}}, %slots: {{[^%]*}}, %cu_seqlens: memref<{{[0-9]+}}xi32, {{[^%]*}}, %q:
// BYTES-SAME: tokens = 2,
// BYTES-SAME: total_key_decay = #decant.region<{{[0-9]+}}, 3 x 1, f32>
// BYTES: %[[BEGIN:.*]] = memref.load %cu_seqlens[
// BYTES-NEXT: %[[FIRST:.*]] = arith.index_cast %[[BEGIN]]
// BYTES: arith.maxsi
// BYTES: %[[COUNT:.*]] = arith.minsi
// BYTES: decant.make_room %{{.*}} for %[[COUNT]]
// BYTES: scf.for %[[T:.*]] = %{{.*}} to %[[COUNT]]
// BYTES-NEXT: arith.addi %[[FIRST]], %[[T]]
// BYTES: decant.store
// BYTES: else
// BYTES: scf.for
// BYTES: decant.store
// BYTES: decant.kernel @accept(%state: {{[^%]*}}, %slots: {{[^%]*}}, %accepted: memref<{{[0-9]+}}xi32

// The lanes wait for one another between two tokens.
// TILED: decant.kernel @step
// TILED: scf.for
// TILED: decant.barrier
// TILED-NEXT: }
decant.decode @gdn heads <key = 1, value = 2, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 0, records = f16, tokens = 2> format <f32> target <"sm_90a">
    (%S: !state, %q: !key, %k: !key, %v: !value, %decay: f32) {
  %S1 = decant.decay %S, %decay : !state, f32
  %S2 = decant.write %S1, %k, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
