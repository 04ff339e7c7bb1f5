// RUN: decant-opt %s --decant-assign-schedule --mlir-print-local-scope | FileCheck %s
// RUN: decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=4,keys_per_lane=4,values_per_lane=16,rows=unrolled,boundary=apart,blocks_per_sm=3" --mlir-print-local-scope | FileCheck %s --check-prefix=GIVEN
// RUN: not decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=16,value_lanes=2,keys_per_lane=8,values_per_lane=32,rows=unrolled" 2>&1 | FileCheck %s --check-prefix=KEYS
// RUN: not decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=2,keys_per_lane=3,values_per_lane=32,rows=unrolled" 2>&1 | FileCheck %s --check-prefix=KEYS_PER_LANE
// RUN: not decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=8,keys_per_lane=4,values_per_lane=8,rows=unrolled" 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=4,keys_per_lane=4,values_per_lane=32,rows=unrolled" 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=16,keys_per_lane=4,values_per_lane=16,rows=unrolled" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=2,keys_per_lane=4,values_per_lane=32,rows=unrolled,boundary=never" 2>&1 | FileCheck %s --check-prefix=BOUNDARY
// RUN: not decant-opt %s --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=2,keys_per_lane=4,values_per_lane=32,rows=unrolled,blocks_per_sm=many" 2>&1 | FileCheck %s --check-prefix=BLOCKS
// DEFINE: %{asked} = not decant-opt --decant-assign-schedule=schedule="strategy=mma,key_lanes=32,value_lanes=2,keys_per_lane=4,values_per_lane=32,rows=unrolled"
// RUN: sed 's/codeOrder = fragments, //' %s | %{asked} 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/128 x 64, i8/128 x 64, f8E4M3FN/' %s | %{asked} 2>&1 | FileCheck %s --check-prefix=CODES
// RUN: sed 's/valueDecay = none/valueDecay = vector/' %s | %{asked} 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: sed 's/, f16>/, f32>/' %s | %{asked} 2>&1 | FileCheck %s --check-prefix=RECORDS
// RUN: sed 's/128 x 64, i8/128 x 64, f32/; s/window = 4/window = 1/' %s | %{asked} 2>&1 | FileCheck %s --check-prefix=ALWAYS
// RUN: sed 's/128 x 64, i8/128 x 64, f32/; s/compensators = 0/compensators = 2/' %s | %{asked} 2>&1 | FileCheck %s --check-prefix=CORRECTED
// RUN: sed 's/128 x 64, i8/128 x 64, f32/' %s | decant-opt --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/codeOrder = fragments, //' %s | decant-opt --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=SIMT
// RUN: sed 's/128 x 64, i8/128 x 64, f8E4M3FN/' %s | decant-opt --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=SIMT
// RUN: sed s/sm_90a/x86-64/ %s | decant-opt --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=SIMT

// Codes in fragments, and records of f16, go to tensor cores: 32 lanes of each warp
// share 128 keys, a warp has 32 of the 64 values, and steps fold full windows. Codes of
// such heads go to registers on sm_90, elsewhere to shared memory where that is large.
// RUN: sed s/sm_90a/sm_100a/ %s | decant-opt --decant-assign-schedule --mlir-print-local-scope | FileCheck %s --check-prefix=BULK
// BULK: decant.kernel @step
// BULK-SAME: boundary = step, blocks_per_sm = {{[0-9]+}}, fetch = bulk, launch = dependent>
// CHECK: decant.kernel @step
// CHECK-SAME: schedule = #decant.schedule<strategy = mma, key_lanes = 32, value_lanes = 2, keys_per_lane = 4, values_per_lane = 32, rows = unrolled, boundary = step, blocks_per_sm = 10, launch = dependent>
// A transfer of dense states is a copy.
// CHECK: decant.kernel @pack_f32
// CHECK-SAME: strategy = simt
// CHECK-NOT: launch
// GIVEN: decant.kernel @step
// GIVEN-SAME: schedule = #decant.schedule<strategy = mma, key_lanes = 32, value_lanes = 4, keys_per_lane = 4, values_per_lane = 16, rows = unrolled, blocks_per_sm = 3>
// GIVEN: decant.kernel @pack_f32
// GIVEN-SAME: strategy = simt

// KEYS: error: schedule <strategy = mma, {{.*}}>: key_lanes x keys_per_lane is 16 x 8; strategy mma needs 32 x 4
// KEYS_PER_LANE: error: schedule <{{.*}}>: key_lanes x keys_per_lane is 32 x 3; strategy mma needs 32 x 4
// VALUES: error: schedule <{{.*}}>: values_per_lane is 8; a warp of strategy mma owns 16, 32 or 64 values
// COLUMNS: error: schedule <{{.*}}>: value_lanes x values_per_lane is 128; the padded value dim is 64
// THREADS: error: schedule <{{.*}}>: 512 threads; sm_90a allows 256 per block
// BOUNDARY: error: schedule.boundary: 'never'; allowed are apart, step
// BLOCKS: error: schedule.blocks_per_sm: 'many'; a whole number of at least 0 is needed
// ORDER: error: schedule <{{.*}}>: strategy mma needs codes in the order of fragments
// CODES: error: schedule <{{.*}}>: strategy mma has no fragments of e4m3 codes
// DECAY: error: schedule <{{.*}}>: strategy mma has no decays along the value axis
// RECORDS: error: schedule <{{.*}}>: strategy mma needs records of f16, or of bf16 without compensators, which are f16; they are f32

// f32 in windows goes to registers, and a fold is a sum.
// ALWAYS: error: schedule <{{.*}}>: strategy mma has f32 codes in windows only
// CORRECTED: error: schedule <{{.*}}>: strategy mma has f32 codes without compensators and scales
// WIDE: decant.kernel @step
// WIDE-SAME: schedule = #decant.schedule<strategy = mma, key_lanes = 32, value_lanes = 2, keys_per_lane = 4, values_per_lane = 32, rows = unrolled, boundary = step, blocks_per_sm = 8, launch = dependent>

// What tensor cores cannot do by default goes to simt, the host's kernels too.
// SIMT: decant.kernel @step
// SIMT-SAME: strategy = simt

#layout = #decant.layout<heads = 1, keyDim = 128, valueDim = 64, paddedKey = 128, paddedValue = 64,
    window = 4, compensators = 0, writes = 1, keyDecay = none, valueDecay = none,
    headBytes = 9744, codeOrder = fragments, scales = [], regions = {codes = #decant.region<0, 128 x 64, i8>,
    cursor = #decant.region<8192, 1 x 4, f32>, record_keys = #decant.region<8208, 4 x 128, f16>,
    record_values = #decant.region<9232, 4 x 64, f16>}>
decant.kernel @step() attributes {layout = #layout, target = #decant.target<"sm_90a">} {
  decant.return
}
decant.kernel @pack_f32() attributes {layout = #layout, target = #decant.target<"sm_90a">} {
  decant.return
}
