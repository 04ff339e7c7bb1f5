// RUN: decant-opt %s --split-input-file --decant-tile-kernel --verify-diagnostics

// expected-error @+1 {{has no #decant.schedule; decant-assign-schedule comes before decant-tile-kernel}}
decant.kernel @unscheduled() attributes {target = #decant.target<"sm_90a">} {
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// Lanes hold parts of a vector; which part a literal's elements fall into is not
// known before the schedule, so only equal elements are allowed.
decant.kernel @literal(%out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %ramp = arith.constant dense<"0x000000000000000100000002000000030000000400000005000000060000000700000008000000090000000A0000000B0000000C0000000D0000000E0000000F000000100000001100000012000000130000001400000015000000160000001700000018000000190000001A0000001B0000001C0000001D0000001E0000001F"> : !value
  // expected-error @-1 {{only a constant whose elements all are equal can be spread over lanes}}
  decant.store %ramp, %out[%at] : !value, !rows
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 16, valueDim = 32, paddedKey = 16, paddedValue = 32,
    window = 1, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 1072,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f16>],
    regions = {codes = #decant.region<0, 16 x 32, i8>, cursor = #decant.region<1056, 1 x 4, f32>,
               key_scale = #decant.region<512, 1 x 16, f32>, value_scale = #decant.region<576, 1 x 32, f16>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4,
    keys_per_lane = 2, values_per_lane = 8, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xbf16>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// A tensor that names no axis belongs to no lane.
decant.kernel @no_axis(%x: tensor<4xf32>) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  // expected-error @+1 {{has a result that no lane can hold: 'tensor<4xf32>'}}
  %y = arith.negf %x : tensor<4xf32>
  decant.return
}

// -----

#layout = #decant.layout<heads = 1, keyDim = 24, valueDim = 16, paddedKey = 24, paddedValue = 16,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none, headBytes = 1552, codeOrder = columns,
    scales = [], regions = {codes = #decant.region<0, 16 x 24, f32>, cursor = #decant.region<1536, 1 x 4, f32>}>
#schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 4, keys_per_lane = 4,
    values_per_lane = 4, rows = unrolled>
!pool = memref<1048576xi8>
!rows = memref<1048576xf32>
!key = tensor<24xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>

// 8 x 4 keys are more than 24: rows of a lane that is not inside do not exist, which
// only a state that stays in registers knows.
// expected-error @+1 {{kernel @reads has lanes beyond the keys; only one that holds its state from reads to a fold can}}
decant.kernel @reads(%state: !pool, %k: !rows, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %x = decant.load %k[%at] : !rows -> !key
  %y = decant.window_read %slot, %x : (!decant.slot, !key) -> !value
  decant.store %y, %out[%at] : !value, !rows
  decant.return
}
