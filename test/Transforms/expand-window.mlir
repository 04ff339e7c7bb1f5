// RUN: decant-opt %s --split-input-file --decant-expand-window --mlir-print-local-scope | FileCheck %s

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>

// Both reads of a delta rule are of the state before the token, since the second
// one's share of the new term is (k . q) u: one pass over the codes serves both.
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: %window: !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 2, records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
// CHECK-SAME: format = #decant.format<f32>, heads = #decant.heads<key = 1, value = 2, map = group>
// CHECK: %[[DK:.*]] = decant.scale %k, %a
// CHECK: %[[DQ:.*]] = decant.scale %q, %a
// CHECK: %[[Y:.*]]:2 = decant.window_read %window, %[[DK]], %[[DQ]]
// CHECK-NOT: decant.window_read
// CHECK: %[[R:.*]] = arith.subf %v, %[[Y]]#0
// CHECK: %[[U:.*]] = decant.scale %[[R]], %beta
// CHECK: %[[KQ:.*]] = decant.dot %k, %q
// CHECK: %[[OWN:.*]] = decant.scale %[[U]], %[[KQ]]
// CHECK: %[[O:.*]] = arith.addf %[[Y]]#1, %[[OWN]]
// CHECK: decant.append %window key_decay(%a : f32) keys(%k : {{.*}}) values(%[[U]] : {{.*}})
// A window that is full now makes room for the next token.
// CHECK-NEXT: decant.make_room %window : !decant.window
// CHECK: decant.return %[[O]]

// The commit folds a window that is due, and nothing else.
// CHECK-LABEL: decant.kernel @commit(
// CHECK-SAME: %min_fill: i64)
// CHECK-NEXT: %[[FILL:.*]] = decant.fill %window
// CHECK-NEXT: %[[DUE:.*]] = arith.cmpi sge, %[[FILL]], %min_fill : i64
// CHECK-NEXT: scf.if %[[DUE]] {
// CHECK-NEXT: decant.fold %window : !decant.window
// CHECK-NEXT: }
// CHECK-NEXT: decant.return
// CHECK-NOT: decant.decode
decant.decode @delta heads <key = 1, value = 2, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 2, records = f16> format <f32> target <"x86-64">
    (%S: !state, %q: !key, %k: !key, %v: !value, %a: f32, %beta: f32) {
  %S1 = decant.decay %S, %a : !state, f32
  %p = decant.read %S1, %k : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>

// The second read's key depends on the first one's result, so it cannot share
// its pass; the third one does not and can.
// CHECK-LABEL: decant.kernel @step(
// CHECK: %[[Y:.*]]:2 = decant.window_read %window, %k, %q
// CHECK: %[[D:.*]] = decant.dot %[[Y]]#0, %v
// CHECK: %[[X:.*]] = decant.scale %q, %[[D]]
// CHECK: %[[Z:.*]] = decant.window_read %window, %[[X]] :
// CHECK-NOT: decant.window_read
// CHECK: arith.addf %[[Y]]#1
// CHECK: decant.append %window keys(%k : {{.*}}) values(%[[Z]] :
decant.decode @dependent heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !state, %q: !key, %k: !key, %v: !value) {
  %p = decant.read %S, %k : !state
  %d = decant.dot %p, %v : !value
  %x = decant.scale %q, %d : !key
  %y = decant.read %S, %x : !state
  %S1 = decant.write %S, %k, %y : !state
  %o = decant.read %S1, %q : !state
  decant.yield %S1, %o : !state
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>

// A decay of the value axis comes after the read; a term that was written before
// it is under it, too.
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: keyDecay = none, valueDecay = vector>
// CHECK: %[[U:.*]] = arith.mulf %v, %b
// CHECK: %[[Y:.*]] = decant.window_read %window, %q :
// CHECK: %[[C:.*]] = arith.mulf %[[Y]], %b
// CHECK: %[[KQ:.*]] = decant.dot %k, %q
// CHECK: %[[OWN:.*]] = decant.scale %[[U]], %[[KQ]]
// CHECK: %[[O:.*]] = arith.addf %[[C]], %[[OWN]]
// CHECK: decant.append %window value_decay(%b : {{.*}}) keys(%k : {{.*}}) values(%[[U]] :
// CHECK: decant.return %[[O]]
decant.decode @value_decay heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !state, %q: !key, %k: !key, %v: !value, %b: !value) {
  %S1 = decant.write %S, %k, %v : !state
  %S2 = decant.decay %S1, %b : !state, !value
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>

// Two writes are two records per token.
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: records = bf16, writes = 2, keyDecay = none, valueDecay = none>
// CHECK: decant.append %window keys(%k, %q : {{.*}}) values(%v, %v : {{.*}})
decant.decode @two_writes heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 0, records = bf16> format <f32> target <"x86-64">
    (%S: !state, %q: !key, %k: !key, %v: !value) {
  %S1 = decant.write %S, %k, %v : !state
  %S2 = decant.write %S1, %q, %v : !state
  %o = decant.read %S, %q : !state
  decant.yield %S2, %o : !state
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>

// A scalar and a key vector together are one vector per token; the scalar alone
// is under both.
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: keyDecay = vector, valueDecay = none>
// CHECK: %[[D:.*]] = decant.scale %w, %a
// CHECK: %[[K:.*]] = arith.mulf %k, %w
// CHECK: %[[Q:.*]] = arith.mulf %q, %[[D]]
// CHECK: decant.window_read %window, %[[Q]] :
// CHECK: decant.append %window key_decay(%[[D]] : {{.*}}) keys(%[[K]] : {{.*}}) values(%v :
decant.decode @scalar_times_vector heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 4, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !state, %q: !key, %k: !key, %v: !value, %a: f32, %w: !key) {
  %S1 = decant.decay %S, %a : !state, f32
  %S2 = decant.write %S1, %k, %v : !state
  %S3 = decant.decay %S2, %w : !state, !key
  %o = decant.read %S3, %q : !state
  decant.yield %S3, %o : !state
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>

// A window of one token has no records: the step folds, so that there is no commit
// and nothing to make room for.
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: length = 1
// CHECK: decant.window_read %window, %q :
// CHECK-NOT: decant.append
// CHECK: decant.fold %window keys(%k : {{.*}}) values(%v : {{.*}})
// CHECK-NEXT: decant.return
// CHECK-NOT: decant.kernel @commit
decant.decode @window_one heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !state, %q: !key, %k: !key, %v: !value) {
  %S1 = decant.write %S, %k, %v : !state
  %o = decant.read %S1, %q : !state
  decant.yield %S1, %o : !state
}
