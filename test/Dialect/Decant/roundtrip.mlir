// RUN: decant-opt %s --split-input-file | decant-opt --split-input-file | FileCheck %s
// RUN: decant-opt %s --split-input-file --mlir-print-op-generic | decant-opt --split-input-file | FileCheck %s

!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

// Argument names are kept: they say what an input is.
// CHECK-LABEL: decant.rule @every_rule_op(
// CHECK-SAME: %S: !decant.state<?x?>, %q: tensor<?xf32, #decant.axis<key>>
// CHECK-SAME: %v: tensor<?xf32, #decant.axis<value>>, %gate: f32)
decant.rule @every_rule_op(%S: !state, %q: !key, %v: !value, %gate: f32) {
  // CHECK: decant.decay %S, %gate : {{.*}}<?x?>, f32
  %S1 = decant.decay %S, %gate : !state, f32
  // CHECK: decant.decay %{{.*}}, %q : {{.*}}<?x?>, tensor<?xf32, #decant.axis<key>>
  %S2 = decant.decay %S1, %q : !state, !key
  // CHECK: decant.decay %{{.*}}, %v : {{.*}}<?x?>, tensor<?xf32, #decant.axis<value>>
  %S3 = decant.decay %S2, %v : !state, !value
  // CHECK: %[[P:.*]] = decant.read %{{.*}}, %q : !decant.state<?x?>
  %p = decant.read %S3, %q : !state
  // CHECK: %[[B:.*]] = decant.broadcast %gate : tensor<?xf32, #decant.axis<value>>
  %b = decant.broadcast %gate : !value
  // CHECK: %[[D:.*]] = decant.dot %[[P]], %[[B]] : tensor<?xf32, #decant.axis<value>>
  %d = decant.dot %p, %b : !value
  // CHECK: %[[U:.*]] = decant.scale %v, %[[D]] : tensor<?xf32, #decant.axis<value>>
  %u = decant.scale %v, %d : !value
  // CHECK: %[[S4:.*]] = decant.write %{{.*}}, %q, %[[U]] : !decant.state<?x?>
  %S4 = decant.write %S3, %q, %u : !state
  // CHECK: decant.yield %[[S4]], %[[P]] : !decant.state<?x?>
  decant.yield %S4, %p : !state
}

// Where inputs come from is kept, too.
// CHECK-LABEL: decant.rule @every_source(
// CHECK-SAME: %z: tensor<?xf32, #decant.axis<key>> {carried}, %v: tensor<?xf32, #decant.axis<value>>, %w: tensor<?xf32, #decant.axis<value>> {gate}, %d: f32 {layer})
decant.rule @every_source(%S: !state, %z: !key {carried}, %v: !value, %w: !value {gate}, %d: f32 {layer}) {
  // CHECK: %[[K:.*]] = decant.read_key %S, %w : !decant.state<?x?>
  %k = decant.read_key %S, %w : !state
  // CHECK: decant.yield %S, %v, %[[K]] : !decant.state<?x?>
  decant.yield %S, %v, %k : !state
}

// -----

// CHECK-LABEL: decant.decode @every_question
// CHECK-NEXT: heads <key = 2, value = 4, map = modulo>
// CHECK-NEXT: inputs <type = bf16, gate = f32, output = f16, layout = packed_qkv, pad = non_positive>
// CHECK-NEXT: window <length = 16, compensators = 4, records = bf16>
// CHECK-NEXT: format <i8, <key, sqrt_mean_abs, f32>, <value, absmax, f16>>
// CHECK-NEXT: target <"sm_90a">
// CHECK-NEXT: (%S: !decant.state<100x48>, %v: tensor<48xf32, #decant.axis<value>>)
decant.decode @every_question
    heads <key = 2, value = 4, map = modulo>
    inputs <type = bf16, gate = f32, output = f16, layout = packed_qkv, pad = non_positive>
    window <length = 16, compensators = 4, records = bf16>
    format <i8, <key, sqrt_mean_abs, f32>, <value, absmax, f16>>
    target <"sm_90a">
    (%S: !decant.state<100x48>, %v: tensor<48xf32, #decant.axis<value>>) {
  decant.yield %S, %v : !decant.state<100x48>
}

// CHECK-LABEL: decant.decode @other_words
// CHECK-NEXT: heads <key = 1, value = 1, map = group>
// CHECK-NEXT: layout = separate, pad = negative>
// CHECK: format <f32>
// CHECK-NEXT: target <"x86-64">
decant.decode @other_words
    heads <key = 1, value = 1, map = group>
    inputs <type = f32, gate = f32, output = f32, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f32>
    format <f32>
    target <"x86-64">
    (%S: !decant.state<16x16>, %v: tensor<16xf32, #decant.axis<value>>) {
  decant.yield %S, %v : !decant.state<16x16>
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 48, length = 4, compensators = 2,
    records = bf16, writes = 2, keyDecay = vector, valueDecay = scalar>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<48xf32, #decant.axis<value>>
!state = !decant.state<16x48>

// CHECK-LABEL: decant.kernel @every_window_op(
// CHECK-SAME: %w: !decant.window<keyDim = 16, valueDim = 48, length = 4, compensators = 2, records = bf16, writes = 2, keyDecay = vector, valueDecay = scalar>
// CHECK-SAME: attributes {
// CHECK-SAME: format = #decant.format<bf16>
// CHECK-SAME: heads = #decant.heads<key = 1, value = 2, map = group>
// CHECK-SAME: inputs = #decant.inputs<type = f32, gate = f16, output = f32, layout = separate, pad = none>
// CHECK-SAME: target = #decant.target<"sm_80">}
decant.kernel @every_window_op(%w: !window, %k: !key, %u: !value, %S: !state) attributes {
    heads = #decant.heads<key = 1, value = 2, map = group>,
    inputs = #decant.inputs<type = f32, gate = f16, output = f32, layout = separate, pad = none>,
    format = #decant.format<bf16>, target = #decant.target<"sm_80">} {
  %b = arith.constant 0.5 : f32
  // CHECK: decant.window_read %w, %k : (!decant.window<{{.*}}>, tensor<16xf32, #decant.axis<key>>) -> tensor<48xf32, #decant.axis<value>>
  %y = decant.window_read %w, %k : (!window, !key) -> !value
  // CHECK: decant.append %w key_decay(%k : tensor<16xf32, #decant.axis<key>>) value_decay(%{{.*}} : f32) keys(%k, %k : {{.*}}) values(%u, %{{.*}} : {{.*}}) : !decant.window<
  decant.append %w key_decay(%k : !key) value_decay(%b : f32) keys(%k, %k : !key, !key) values(%u, %y : !value, !value) : !window
  // CHECK: decant.fold %w key_decay(%k : {{.*}}) keys(%k : {{.*}}) values(%u : {{.*}}) : !decant.window<
  decant.fold %w key_decay(%k : !key) keys(%k : !key) values(%u : !value) : !window
  // CHECK: decant.fold %w : !decant.window<
  decant.fold %w : !window
  // CHECK: decant.fill %w : !decant.window<
  %n = decant.fill %w : !window
  // CHECK: decant.rebuild %w : {{.*}}<keyDim = 16, {{.*}}> -> {{.*}}<16x48>
  %S1 = decant.rebuild %w : !window -> !state
  // CHECK: decant.replace %w, %S : {{.*}}<keyDim = 16, {{.*}}>, {{.*}}<16x48>
  decant.replace %w, %S : !window, !state
  // CHECK: decant.return %{{.*}} : tensor<48xf32, #decant.axis<value>>
  decant.return %y : !value
}

// -----

!pool = memref<70368744177664xi8>
!rows = memref<70368744177664xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<48xf32, #decant.axis<value>>

// CHECK-LABEL: decant.kernel @every_kernel_op(
// CHECK-SAME: layout = #decant.layout<heads = 2, keyDim = 16, valueDim = 48, paddedKey = 16, paddedValue = 48, window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = vector, headBytes = 1552, scales = [#decant.scale<key, absmax, f32>], regions = {codes = #decant.region<0, 16 x 48, bf16>, cursor = #decant.region<1536, 1 x 4, f32>}>
// CHECK-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 6, keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
decant.kernel @every_kernel_op(%state: !pool, %rows: !rows, %at: i64) attributes {
    target = #decant.target<"sm_80">,
    layout = #decant.layout<heads = 2, keyDim = 16, valueDim = 48, paddedKey = 16,
        paddedValue = 48, window = 1, compensators = 0, writes = 1, keyDecay = none,
        valueDecay = vector, headBytes = 1552, scales = [#decant.scale<key, absmax, f32>],
        regions = {codes = #decant.region<0, 16 x 48, bf16>,
                   cursor = #decant.region<1536, 1 x 4, f32>}>,
    schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 6,
        keys_per_lane = 2, values_per_lane = 8, rows = unrolled>} {
  %i = arith.index_cast %at : i64 to index
  // CHECK: %[[ROW:.*]], %[[HEAD:.*]] = decant.block 2
  %row, %head = decant.block 2
  // CHECK: %[[SLOT:.*]] = decant.slot %state[%{{.*}}] : memref<70368744177664xi8>
  %slot = decant.slot %state[%i] : !pool
  // CHECK: decant.load %rows[%[[ROW]]] : memref<70368744177664xbf16> -> tensor<16xf32, #decant.axis<key>>
  %x = decant.load %rows[%row] : !rows -> !key
  // CHECK: decant.window_read %[[SLOT]], %{{.*}} : (!decant.slot, tensor<16xf32, #decant.axis<key>>) -> tensor<48xf32, #decant.axis<value>>
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  // CHECK: decant.store %{{.*}}, %rows[%[[ROW]]] : tensor<48xf32, #decant.axis<value>>, memref<70368744177664xbf16>
  decant.store %y, %rows[%row] : !value, !rows
  // CHECK: decant.pack %[[SLOT]], %rows[%[[ROW]]] strides(%[[HEAD]], %{{.*}}) : memref<70368744177664xbf16>
  decant.pack %slot, %rows[%row] strides(%head, %i) : !rows
  // CHECK: decant.unpack %[[SLOT]], %rows[%[[ROW]]] strides(%[[HEAD]], %{{.*}}) : memref<70368744177664xbf16>
  decant.unpack %slot, %rows[%row] strides(%head, %i) : !rows
  // CHECK: decant.touch_header %[[SLOT]], %state[%{{.*}}] head %[[HEAD]] : memref<70368744177664xi8>
  decant.touch_header %slot, %state[%i] head %head : !pool
  // CHECK: decant.return{{$}}
  decant.return
}

// -----

// CHECK-LABEL: decant.kernel @every_lane_op(
// CHECK-SAME: attributes {lanes = array<i64: 8, 4>}
decant.kernel @every_lane_op(%x: f32) attributes {lanes = array<i64: 8, 4>} {
  // CHECK: decant.lane <key>
  %k = decant.lane <key>
  // CHECK: decant.lane <value>
  %v = decant.lane <value>
  // CHECK: decant.scratch : memref<2x16xf32, #gpu.address_space<workgroup>>
  %m = decant.scratch : memref<2x16xf32, #gpu.address_space<workgroup>>
  // CHECK: %[[Y:.*]] = decant.lane_reduce add %x over <key> : f32
  %y = decant.lane_reduce add %x over <key> : f32
  %z = vector.broadcast %y : f32 to vector<4xf32>
  // CHECK: decant.lane_reduce max %{{.*}} over <value> : vector<4xf32>
  %m4 = decant.lane_reduce max %z over <value> : vector<4xf32>
  // CHECK: decant.barrier
  decant.barrier
  decant.return
}
