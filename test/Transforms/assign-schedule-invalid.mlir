// RUN: decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 8, value_lanes = 16, keys_per_lane = 16, values_per_lane = 8, rows = rolled"' | FileCheck %s --check-prefix=GIVEN
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 12, value_lanes = 8, keys_per_lane = 8, values_per_lane = 16, rows = unrolled"' 2>&1 | FileCheck %s --check-prefix=LANES
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = 4, values_per_lane = 16, rows = unrolled"' 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = 8, values_per_lane = 8, rows = unrolled"' 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 32, value_lanes = 32, keys_per_lane = 4, values_per_lane = 4, rows = unrolled"' 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = fast, key_lanes = 16, value_lanes = 8, keys_per_lane = 8, values_per_lane = 16, rows = unrolled"' 2>&1 | FileCheck %s --check-prefix=STRATEGY
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = 8, values_per_lane = 16, rows = some"' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = all, values_per_lane = 16, rows = unrolled"' 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16"' 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = 8, values_per_lane = 16, rows = unrolled, stages = 3"' 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="fast"' 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not decant-opt %s '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 4, keys_per_lane = 8, values_per_lane = 16, rows = unrolled, split = 2"' 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: sed 's/128 x 128, i8/128 x 128, f32/; s/decant.return/%%v = arith.constant dense<1.0> : tensor<128xf32, #decant.axis<value>> %%s = decant.dot %%v, %%v : tensor<128xf32, #decant.axis<value>> decant.return/' %s | not decant-opt '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = 8, values_per_lane = 4, rows = unrolled, lanes = value_first, split = 4"' 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: sed s/sm_90a/sm_80/ %s | not decant-opt '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 16, value_lanes = 8, keys_per_lane = 8, values_per_lane = 16, rows = unrolled, launch = dependent"' 2>&1 | FileCheck %s --check-prefix=LAUNCH
// RUN: sed s/sm_90a/x86-64/ %s | not decant-opt '--decant-assign-schedule=schedule="strategy = simt, key_lanes = 32, value_lanes = 32, keys_per_lane = 4, values_per_lane = 4, rows = unrolled"' 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: sed s/sm_90a/sm_75/ %s | not decant-opt --decant-assign-schedule 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: sed 's/layout = .*, target/target/' %s | not decant-opt --decant-assign-schedule 2>&1 | FileCheck %s --check-prefix=LAYOUT

// A tuner's schedule is used as it is; one that does not fit is refused with the
// numbers that do not agree.

// GIVEN: schedule = #decant.schedule<strategy = simt, key_lanes = 8, value_lanes = 16, keys_per_lane = 16, values_per_lane = 8, rows = rolled>
// LANES: error: schedule <strategy = simt, key_lanes = 12, {{.*}}>: key_lanes is 12; a power of two up to 32 is needed, since key lanes share a warp
// KEYS: error: schedule <{{.*}}>: key_lanes x keys_per_lane is 64; the padded key dim is 128
// VALUES: error: schedule <{{.*}}>: value_lanes x values_per_lane x split is 64; the padded value dim is 128
// SPLIT: error: schedule <{{.*}}>: split is 2; blocks share a head only at window 1, with float codes, without scales and compensators
// SUMS: error: schedule <{{.*}}>: split is 4; kernel @step sums over the value axis or replaces a vector of the whole head, which blocks cannot share
// THREADS: error: schedule <{{.*}}>: 1024 threads; sm_90a allows 256 per block
// STRATEGY: error: schedule.strategy: 'fast'; allowed are simt, mma
// WORD: error: schedule.rows: 'some'; allowed are unrolled, rolled
// NUMBER: error: schedule.keys_per_lane: 'all'; a whole number of at least 1 is needed
// MISSING: error: schedule.value_lanes: ''; a whole number of at least 1 is needed
// FIELD: error: schedule: unknown field 'stages'
// SHAPE: error: schedule: 'fast' is not 'field = value'
// LAUNCH: error: schedule <{{.*}}, launch = dependent>: launch is dependent, which sm_80 has not; it is ordered
// HOST: error: schedule <{{.*}}>: 1024 threads; x86-64 allows 256 per block
// TARGET: error: target: unknown target 'sm_75'; known are x86-64, sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_103a, sm_120, sm_120a, sm_121a
// LAYOUT: error: a kernel without #decant.layout has no bytes to cut; decant-materialize-format comes first

#layout = #decant.layout<heads = 1, keyDim = 128, valueDim = 128, paddedKey = 128, paddedValue = 128,
    window = 1, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 16400, scales = [], regions = {codes = #decant.region<0, 128 x 128, i8>,
    cursor = #decant.region<16384, 1 x 4, f32>}>
decant.kernel @step() attributes {layout = #layout, target = #decant.target<"sm_90a">} {
  decant.return
}
