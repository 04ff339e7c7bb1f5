// RUN: decant-opt %s --split-input-file --decant-materialize-format --mlir-print-local-scope | FileCheck %s

!window = !decant.window<keyDim = 100, valueDim = 48, length = 4, compensators = 2,
    records = bf16, writes = 1, keyDecay = scalar, valueDecay = none>
!key = tensor<100xf32, #decant.axis<key>>
!value = tensor<48xf32, #decant.axis<value>>

// Separate inputs: pointers in the rule's order, then strides in the same order;
// A_log and dt_bias belong to the layer and have no rows.
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: %state: memref<70368744177664xi8, #gpu.address_space<global>>, %slots: memref<70368744177664xi32, {{[^,]*}}>,
// CHECK-SAME: %q: memref<70368744177664xbf16, {{[^,]*}}>, %k: memref<{{[^,]*}}bf16, {{[^,]*}}>, %v: memref<{{[^,]*}}bf16, {{[^,]*}}>,
// CHECK-SAME: %decay: memref<70368744177664xf32, {{[^,]*}}>, %A_log: memref<{{[^,]*}}f32, {{[^,]*}}>, %dt_bias: memref<{{[^,]*}}f32, {{[^,]*}}>, %beta: memref<{{[^,]*}}f32, {{[^,]*}}>,
// An input of the rule's own has the type of q, k and v.
// CHECK-SAME: %gain: memref<70368744177664xbf16, {{[^,]*}}>,
// CHECK-SAME: %out: memref<70368744177664xf16, {{[^,]*}}>,
// CHECK-SAME: %state_stride: i64, %slots_stride: i64, %q_stride: i64, %k_stride: i64, %v_stride: i64, %decay_stride: i64, %beta_stride: i64, %gain_stride: i64, %out_stride: i64)

// The layout by hand, dims padded to 104 x 48: codes 104 * 48 = 4992, key scale
// 104 * 4 = 416 (5408), value scale 48 * 2 = 96 (5504), compensator keys
// 2 * 104 * 2 = 416 (5920) and values 2 * 48 * 2 = 192 (6112), cursor 16 (6128),
// total decay 4 -> 16 (6144), 4 decays 16 (6160); record keys 4 * 104 * 2 = 832 are
// long and start at a multiple of 128, 6272 (7104), values 4 * 48 * 2 = 384 (7488),
// and the next head at the next multiple, 7552.
// CHECK-SAME: layout = #decant.layout<heads = 4, keyDim = 100, valueDim = 48, paddedKey = 104, paddedValue = 48, window = 4, compensators = 2, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 7552,
// CHECK-SAME: scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
// CHECK-SAME: codes = #decant.region<0, 104 x 48, i8>
// CHECK-SAME: comp_keys = #decant.region<5504, 2 x 104, f16>
// CHECK-SAME: comp_values = #decant.region<5920, 2 x 48, f16>
// CHECK-SAME: cursor = #decant.region<6112, 1 x 4, f32>
// CHECK-SAME: key_scale = #decant.region<4992, 1 x 104, f32>
// CHECK-SAME: record_key_decay = #decant.region<6144, 4 x 1, f32>
// CHECK-SAME: record_keys = #decant.region<6272, 4 x 104, bf16>
// CHECK-SAME: record_values = #decant.region<7104, 4 x 48, bf16>
// CHECK-SAME: total_key_decay = #decant.region<6128, 1 x 1, f32>
// CHECK-SAME: value_scale = #decant.region<5408, 1 x 48, f16>
// The questions are answered.
// CHECK-NOT: #decant.heads
// CHECK-NOT: #decant.inputs
// CHECK-NOT: #decant.format
// CHECK-NOT: !decant.window

// Strides become index, which is 64 bits wide, before anything is computed.
// CHECK-DAG: %[[SLOTS_STRIDE:.*]] = arith.index_cast %slots_stride : i64 to index
// CHECK-DAG: %[[STATE_STRIDE:.*]] = arith.index_cast %state_stride : i64 to index
// CHECK-DAG: %[[Q_STRIDE:.*]] = arith.index_cast %q_stride : i64 to index
// CHECK-DAG: %[[GAIN_STRIDE:.*]] = arith.index_cast %gain_stride : i64 to index
// CHECK-DAG: %[[OUT_STRIDE:.*]] = arith.index_cast %out_stride : i64 to index
// CHECK: %row, %head = decant.block 4
// CHECK: %[[AT:.*]] = arith.muli %row, %[[SLOTS_STRIDE]] : index
// CHECK: %[[SLOT:.*]] = memref.load %slots[%[[AT]]]
// CHECK: %[[OUT_ROW:.*]] = arith.muli %row, %[[OUT_STRIDE]] : index
// CHECK: %[[VALUES:.*]] = arith.constant 48 : index
// CHECK: %[[OUT_HEAD:.*]] = arith.muli %head, %[[VALUES]] : index
// CHECK: %[[OUT:.*]] = arith.addi %[[OUT_ROW]], %[[OUT_HEAD]] : index

// Negative slot numbers are padding.
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: %[[LIVE:.*]] = arith.cmpi sge, %[[SLOT]], %[[ZERO]] : i32
// CHECK: scf.if %[[LIVE]] {

// The inputs come first: their loads are on their way when those of the slot
// start. Value heads 0, 1 use key head 0 and value heads 2, 3 key head 1.
// CHECK-NOT: decant.slot
// CHECK: %[[RATIO:.*]] = arith.constant 2 : index
// CHECK: %[[KEY_HEAD:.*]] = arith.divui %head, %[[RATIO]] : index
// CHECK: %[[KEYS:.*]] = arith.constant 100 : index
// CHECK: %[[Q_HEAD:.*]] = arith.muli %[[KEY_HEAD]], %[[KEYS]] : index
// CHECK: %[[Q_ROW:.*]] = arith.muli %row, %[[Q_STRIDE]] : index
// CHECK: %[[Q_AT:.*]] = arith.addi %[[Q_ROW]], %[[Q_HEAD]] : index
// CHECK: %[[Q:.*]] = decant.load %q[%[[Q_AT]]] : {{.*}} -> tensor<100xf32, #decant.axis<key>>
// CHECK: %[[K:.*]] = decant.load %k[
// CHECK: %[[V:.*]] = decant.load %v[
// CHECK: memref.load %decay[
// CHECK: memref.load %A_log[%head]
// CHECK: memref.load %dt_bias[%head]
// CHECK: memref.load %beta[
// CHECK: %[[GAIN_ROW:.*]] = arith.muli %row, %[[GAIN_STRIDE]] : index
// CHECK: %[[GAIN_AT:.*]] = arith.addi %[[GAIN_ROW]], %head : index
// CHECK: %[[GAIN:.*]] = memref.load %gain[%[[GAIN_AT]]]
// CHECK: arith.extf %[[GAIN]] : bf16 to f32

// The slot number is widened before it is multiplied: 2^31 bytes are few.
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[SLOT]] : i32 to index
// CHECK: %[[HEADER:.*]] = arith.muli %[[WIDE]], %[[STATE_STRIDE]] : index
// CHECK: %[[C128:.*]] = arith.constant 128 : index
// CHECK: %[[HEADS:.*]] = arith.addi %[[HEADER]], %[[C128]] : index
// CHECK: %[[BYTES:.*]] = arith.constant 7552 : index
// CHECK: %[[SKIP:.*]] = arith.muli %head, %[[BYTES]] : index
// CHECK: %[[START:.*]] = arith.addi %[[HEADS]], %[[SKIP]] : index
// CHECK: %[[HELD:.*]] = decant.slot %state[%[[START]]]
// CHECK: %[[Y:.*]]:2 = decant.window_read %[[HELD]], %{{.*}}, %[[Q]] : (!decant.slot,
// CHECK: decant.append %[[HELD]] key_decay({{.*}}) keys(%[[K]] : {{.*}}) values(%[[V]] : {{.*}}) : !decant.slot
// CHECK: decant.store %[[Y]]#1, %out[%[[OUT]]]
// CHECK: decant.touch_header %[[HELD]], %state[%[[HEADER]]] head %head

// A padding row writes zeros and touches no slot.
// CHECK: } else {
// CHECK-NEXT: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<48xf32, #decant.axis<value>>
// CHECK-NEXT: decant.store %[[NONE]], %out[%[[OUT]]]
// CHECK-NEXT: }
// CHECK-NEXT: decant.return{{$}}
decant.kernel @step(%window: !window, %q: !key, %k: !key, %v: !value, %decay: f32, %A_log: f32, %dt_bias: f32, %beta: f32, %gain: f32) attributes {
    heads = #decant.heads<key = 2, value = 4, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = f16, layout = separate, pad = negative>,
    format = #decant.format<i8, <key, sqrt_mean_abs, f32>, <value, absmax, f16>>,
    target = #decant.target<"sm_90a">} {
  %x = decant.scale %k, %gain : !key
  %a = arith.addf %decay, %dt_bias : f32
  %b = arith.mulf %a, %A_log : f32
  %c = arith.mulf %b, %beta : f32
  %y, %z = decant.window_read %window, %x, %q : (!window, !key, !key) -> (!value, !value)
  decant.append %window key_decay(%c : f32) keys(%k : !key) values(%v : !value) : !window
  decant.return %z : !value
}

// -----

!window = !decant.window<keyDim = 64, valueDim = 32, length = 1, compensators = 0,
    records = f16, writes = 1, keyDecay = vector, valueDecay = none>
!key = tensor<64xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// Packed rows [q heads | k heads | v heads], the other head map and the other pad
// policy. On the host pointers have no address space.
// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: %state: memref<70368744177664xi8>, %slots: memref<70368744177664xi32>, %qkv: memref<70368744177664xf16>, %decay: memref<70368744177664xbf16>, %dt_bias: memref<70368744177664xf32>, %out: memref<70368744177664xf32>, %state_stride: i64, %slots_stride: i64, %qkv_stride: i64, %decay_stride: i64, %out_stride: i64)
// Length 1 has no records: 64 * 32 * 4 = 8192 bytes of codes and the cursor, up to
// the next multiple of 128.
// CHECK-SAME: headBytes = 8320, scales = [], regions = {codes = #decant.region<0, 64 x 32, f32>, cursor = #decant.region<8192, 1 x 4, f32>}>
// CHECK: arith.cmpi sgt, %{{.*}}, %{{.*}} : i32

// q of key head h mod 3 starts at 64 (h mod 3).
// CHECK: %[[HEADS:.*]] = arith.constant 3 : index
// CHECK: %[[KEY_HEAD:.*]] = arith.remui %head, %[[HEADS]] : index
// CHECK: %[[DIM:.*]] = arith.constant 64 : index
// CHECK: %[[Q_HEAD:.*]] = arith.muli %[[KEY_HEAD]], %[[DIM]] : index
// CHECK: %[[ROW:.*]] = arith.muli %row, %[[STRIDE:.*]] : index
// CHECK: %[[Q_AT:.*]] = arith.addi %[[ROW]], %[[Q_HEAD]] : index
// CHECK: decant.load %qkv[%[[Q_AT]]]
// k begins behind 3 heads of q, 3 * 64 elements.
// CHECK: %[[K_BASE:.*]] = arith.constant 192 : index
// CHECK: %[[K_HEAD:.*]] = arith.addi %{{.*}}, %[[K_BASE]] : index
// CHECK: %[[K_AT:.*]] = arith.addi %{{.*}}, %[[K_HEAD]] : index
// CHECK: decant.load %qkv[%[[K_AT]]]
// v begins behind q and k, and has a head per value head.
// CHECK: %[[V_HEAD:.*]] = arith.muli %head, %{{.*}} : index
// CHECK: %[[V_BASE:.*]] = arith.constant 384 : index
// CHECK: %[[V_OFFSET:.*]] = arith.addi %[[V_HEAD]], %[[V_BASE]] : index
// CHECK: %[[V_AT:.*]] = arith.addi %{{.*}}, %[[V_OFFSET]] : index
// CHECK: decant.load %qkv[%[[V_AT]]] : {{.*}} -> tensor<32xf32, #decant.axis<value>>
// A vector of gates has 64 elements per value head; a layer's bias has no row.
// CHECK: decant.load %decay[%{{.*}}] : memref<70368744177664xbf16> -> tensor<64xf32, #decant.axis<key>>
// CHECK: %[[BIAS_DIM:.*]] = arith.constant 64 : index
// CHECK: %[[BIAS:.*]] = arith.muli %head, %[[BIAS_DIM]] : index
// CHECK: decant.load %dt_bias[%[[BIAS]]]
decant.kernel @step(%window: !window, %q: !key, %k: !key, %v: !value, %decay: !key, %dt_bias: !key) attributes {
    heads = #decant.heads<key = 3, value = 6, map = modulo>,
    inputs = #decant.inputs<type = f16, gate = bf16, output = f32, layout = packed_qkv, pad = non_positive>,
    format = #decant.format<f32>, target = #decant.target<"x86-64">} {
  %a = arith.mulf %decay, %dt_bias : !key
  %y = decant.window_read %window, %q : (!window, !key) -> !value
  decant.fold %window key_decay(%a : !key) keys(%k : !key) values(%v : !value) : !window
  decant.return %y : !value
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// Without padding rows nothing branches on the slot number.
// CHECK-LABEL: decant.kernel @commit(
// CHECK-SAME: %state: {{[^,]*}}, %slots: {{[^,]*}}, %state_stride: i64, %slots_stride: i64, %min_fill: i64)
// CHECK-NOT: arith.cmpi {{.*}} : i32
// CHECK: %[[SLOT:.*]] = decant.slot
// CHECK: %[[FILL:.*]] = decant.fill %[[SLOT]] : !decant.slot
// CHECK: %[[DUE:.*]] = arith.cmpi sge, %[[FILL]], %min_fill : i64
// CHECK: scf.if %[[DUE]] {
// CHECK-NEXT: decant.fold %[[SLOT]] : !decant.slot
// CHECK-NEXT: }
// CHECK-NEXT: decant.touch_header %[[SLOT]]
decant.kernel @commit(%window: !window, %min_fill: i64) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = none>,
    format = #decant.format<f32>, target = #decant.target<"x86-64">} {
  %fill = decant.fill %window : !window
  %due = arith.cmpi sge, %fill, %min_fill : i64
  scf.if %due {
    decant.fold %window : !window
  }
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>
!state = !decant.state<16x16>

// A transfer kernel exists per element type of the dense tensor; its strides are
// the caller's, so [V, K] and [K, V] are the same kernel.
// CHECK-LABEL: decant.kernel @unpack_f32(
// CHECK-SAME: %dense: memref<70368744177664xf32>, %state_stride: i64, %slots_stride: i64, %dense_row: i64, %dense_head: i64, %dense_key: i64, %dense_value: i64)
// CHECK-DAG: %[[ROW_STRIDE:.*]] = arith.index_cast %dense_row
// CHECK-DAG: %[[HEAD_STRIDE:.*]] = arith.index_cast %dense_head
// CHECK-DAG: %[[KEY_STRIDE:.*]] = arith.index_cast %dense_key
// CHECK-DAG: %[[VALUE_STRIDE:.*]] = arith.index_cast %dense_value
// CHECK: scf.if
// CHECK: %[[SLOT:.*]] = decant.slot
// CHECK: %[[ROW:.*]] = arith.muli %row, %[[ROW_STRIDE]] : index
// CHECK: %[[HEAD:.*]] = arith.muli %head, %[[HEAD_STRIDE]] : index
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[HEAD]] : index
// CHECK: decant.unpack %[[SLOT]], %dense[%[[AT]]] strides(%[[KEY_STRIDE]], %[[VALUE_STRIDE]])
// A dense tensor of a padding row is left alone, and reading changes no header.
// CHECK-NOT: decant.touch_header
// CHECK-NOT: else
// CHECK-LABEL: decant.kernel @unpack_bf16(
// CHECK-SAME: %dense: memref<70368744177664xbf16>
// CHECK-LABEL: decant.kernel @pack_f32(
// CHECK: decant.pack %[[SLOT:[0-9]+]], %dense[
// CHECK: decant.touch_header %[[SLOT]]
// CHECK-LABEL: decant.kernel @pack_bf16(
decant.kernel @unpack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<f32>, target = #decant.target<"x86-64">} {
  %S = decant.rebuild %window : !window -> !state
  decant.return %S : !state
}
decant.kernel @pack(%window: !window, %dense: !state) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<f32>, target = #decant.target<"x86-64">} {
  decant.replace %window, %dense : !window, !state
  decant.return
}
