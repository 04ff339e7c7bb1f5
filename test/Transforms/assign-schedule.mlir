// RUN: decant-opt %s --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=GPU
// RUN: sed s/sm_90a/x86-64/ %s | decant-opt --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=CPU
// RUN: decant-opt %s --decant-assign-schedule --mlir-print-local-scope | sed 's/, schedule = #decant.schedule<[^>]*>//' > %t.stripped
// RUN: decant-opt %s --mlir-print-local-scope | diff - %t.stripped

// The default schedule: on a GPU a lane loads 16 bytes of codes (values per lane
// = 16 / bytes of a code, doubled while a block would have more than 256 threads),
// 16 key lanes, or 8 where 16 do not divide the padded dim; on the host one lane
// holds everything. Of a state that the step holds (floats at window 1), value
// lanes are neighbours and cover whole rows where 256 threads do, with 8 key lanes
// where that needs it; other columns go to other blocks.
// Only the attribute is new: without it the text is what it was (third and fourth
// RUN lines).

// One lane along the values.
// GPU-LABEL: decant.kernel @i8_16(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 1, keys_per_lane = 1, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_16(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 16, values_per_lane = 16, rows = rolled>
#i8_16 = #decant.layout<heads = 1, keyDim = 16, valueDim = 16, paddedKey = 16, paddedValue = 16,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 272, scales = [], regions = {codes = #decant.region<0, 16 x 16, i8>,
    cursor = #decant.region<256, 1 x 4, f32>}>
decant.kernel @i8_16() attributes {layout = #i8_16, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @i8_48(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 3, keys_per_lane = 3, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_48(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 48, values_per_lane = 48, rows = rolled>
#i8_48 = #decant.layout<heads = 1, keyDim = 48, valueDim = 48, paddedKey = 48, paddedValue = 48,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 2320, scales = [], regions = {codes = #decant.region<0, 48 x 48, i8>,
    cursor = #decant.region<2304, 1 x 4, f32>}>
decant.kernel @i8_48() attributes {layout = #i8_48, target = #decant.target<"sm_90a">} {
  decant.return
}

// 72 is no multiple of 16: values are padded to 80, keys go to 8 lanes.
// GPU-LABEL: decant.kernel @i8_72(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 5, keys_per_lane = 9, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_72(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 72, values_per_lane = 80, rows = rolled>
#i8_72 = #decant.layout<heads = 1, keyDim = 72, valueDim = 72, paddedKey = 72, paddedValue = 80,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 5776, scales = [], regions = {codes = #decant.region<0, 72 x 80, i8>,
    cursor = #decant.region<5760, 1 x 4, f32>}>
decant.kernel @i8_72() attributes {layout = #i8_72, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @i8_96(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 6, keys_per_lane = 6, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_96(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 96, values_per_lane = 96, rows = rolled>
#i8_96 = #decant.layout<heads = 1, keyDim = 96, valueDim = 96, paddedKey = 96, paddedValue = 96,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 9232, scales = [], regions = {codes = #decant.region<0, 96 x 96, i8>,
    cursor = #decant.region<9216, 1 x 4, f32>}>
decant.kernel @i8_96() attributes {layout = #i8_96, target = #decant.target<"sm_90a">} {
  decant.return
}

// Odd dims are padded to 104 keys and 112 values.
// GPU-LABEL: decant.kernel @i8_97(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 7, keys_per_lane = 13, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_97(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 104, values_per_lane = 112, rows = rolled>
#i8_97 = #decant.layout<heads = 1, keyDim = 97, valueDim = 97, paddedKey = 104, paddedValue = 112,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 11664, scales = [], regions = {codes = #decant.region<0, 104 x 112, i8>,
    cursor = #decant.region<11648, 1 x 4, f32>}>
decant.kernel @i8_97() attributes {layout = #i8_97, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @i8_100(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 7, keys_per_lane = 13, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_100(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 104, values_per_lane = 112, rows = rolled>
#i8_100 = #decant.layout<heads = 1, keyDim = 100, valueDim = 100, paddedKey = 104, paddedValue = 112,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 11664, scales = [], regions = {codes = #decant.region<0, 104 x 112, i8>,
    cursor = #decant.region<11648, 1 x 4, f32>}>
decant.kernel @i8_100() attributes {layout = #i8_100, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @i8_128(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = 8, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_128(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 128, values_per_lane = 128, rows = rolled>
#i8_128 = #decant.layout<heads = 1, keyDim = 128, valueDim = 128, paddedKey = 128, paddedValue = 128,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 16400, scales = [], regions = {codes = #decant.region<0, 128 x 128, i8>,
    cursor = #decant.region<16384, 1 x 4, f32>}>
decant.kernel @i8_128() attributes {layout = #i8_128, target = #decant.target<"sm_90a">} {
  decant.return
}

// Padded to 256.
// GPU-LABEL: decant.kernel @i8_251(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 16, keys_per_lane = 16, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_251(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 256, values_per_lane = 256, rows = rolled>
#i8_251 = #decant.layout<heads = 1, keyDim = 251, valueDim = 251, paddedKey = 256, paddedValue = 256,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 65552, scales = [], regions = {codes = #decant.region<0, 256 x 256, i8>,
    cursor = #decant.region<65536, 1 x 4, f32>}>
decant.kernel @i8_251() attributes {layout = #i8_251, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @i8_256(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 16, keys_per_lane = 16, values_per_lane = 16, rows = unrolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_256(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 256, values_per_lane = 256, rows = rolled>
#i8_256 = #decant.layout<heads = 1, keyDim = 256, valueDim = 256, paddedKey = 256, paddedValue = 256,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 65552, scales = [], regions = {codes = #decant.region<0, 256 x 256, i8>,
    cursor = #decant.region<65536, 1 x 4, f32>}>
decant.kernel @i8_256() attributes {layout = #i8_256, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @bf16_128(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 16, keys_per_lane = 8, values_per_lane = 8, rows = unrolled, blocks_per_sm = 2, lanes = value_first, launch = dependent>
// CPU-LABEL: decant.kernel @bf16_128(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 128, values_per_lane = 128, rows = rolled>
#bf16_128 = #decant.layout<heads = 1, keyDim = 128, valueDim = 128, paddedKey = 128, paddedValue = 128,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 32784, scales = [], regions = {codes = #decant.region<0, 128 x 128, bf16>,
    cursor = #decant.region<32768, 1 x 4, f32>}>
decant.kernel @bf16_128() attributes {layout = #bf16_128, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @f32_128(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 32, keys_per_lane = 16, values_per_lane = 4, rows = unrolled, blocks_per_sm = 2, lanes = value_first, launch = dependent>
// CPU-LABEL: decant.kernel @f32_128(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 128, values_per_lane = 128, rows = rolled>
#f32_128 = #decant.layout<heads = 1, keyDim = 128, valueDim = 128, paddedKey = 128, paddedValue = 128,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 65552, scales = [], regions = {codes = #decant.region<0, 128 x 128, f32>,
    cursor = #decant.region<65536, 1 x 4, f32>}>
decant.kernel @f32_128() attributes {layout = #f32_128, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @f32_256(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 16, value_lanes = 16, keys_per_lane = 16, values_per_lane = 4, rows = unrolled, blocks_per_sm = 2, lanes = value_first, split = 4, launch = dependent>
// CPU-LABEL: decant.kernel @f32_256(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 256, values_per_lane = 256, rows = rolled>
#f32_256 = #decant.layout<heads = 1, keyDim = 256, valueDim = 256, paddedKey = 256, paddedValue = 256,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 262160, scales = [], regions = {codes = #decant.region<0, 256 x 256, f32>,
    cursor = #decant.region<262144, 1 x 4, f32>}>
decant.kernel @f32_256() attributes {layout = #f32_256, target = #decant.target<"sm_90a">} {
  decant.return
}

// 31 key rows per lane do not fit in registers, and leave room for few values.
// GPU-LABEL: decant.kernel @f32_248(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 32, keys_per_lane = 31, values_per_lane = 8, rows = rolled, launch = dependent>
// CPU-LABEL: decant.kernel @f32_248(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 248, values_per_lane = 256, rows = rolled>
#f32_248 = #decant.layout<heads = 1, keyDim = 248, valueDim = 248, paddedKey = 248, paddedValue = 256,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 253968, scales = [], regions = {codes = #decant.region<0, 248 x 256, f32>,
    cursor = #decant.region<253952, 1 x 4, f32>}>
decant.kernel @f32_248() attributes {layout = #f32_248, target = #decant.target<"sm_90a">} {
  decant.return
}

// GPU-LABEL: decant.kernel @i8_248(
// GPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 32, keys_per_lane = 31, values_per_lane = 8, rows = rolled, launch = dependent>
// CPU-LABEL: decant.kernel @i8_248(
// CPU-SAME: schedule = #decant.schedule<strategy = simt, key_lanes = 1, value_lanes = 1, keys_per_lane = 248, values_per_lane = 256, rows = rolled>
#i8_248 = #decant.layout<heads = 1, keyDim = 248, valueDim = 248, paddedKey = 248, paddedValue = 256,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 63504, scales = [], regions = {codes = #decant.region<0, 248 x 256, i8>,
    cursor = #decant.region<63488, 1 x 4, f32>}>
decant.kernel @i8_248() attributes {layout = #i8_248, target = #decant.target<"sm_90a">} {
  decant.return
}
