// RUN: decant-opt %s --decant-materialize-format=code-order=fragments --mlir-print-local-scope > %t.formatted
// RUN: FileCheck %s --check-prefix=FORMAT < %t.formatted
// RUN: decant-opt %t.formatted --mlir-print-local-scope | diff - %t.formatted
// RUN: decant-opt %t.formatted --decant-assign-schedule --decant-tile-kernel --canonicalize --cse | FileCheck %s --check-prefix=TILE
// RUN: decant-opt %t.formatted --decant-assign-schedule="schedule='strategy = mma, key_lanes = 32, value_lanes = 1, keys_per_lane = 4, values_per_lane = 16, rows = unrolled'" --mlir-print-local-scope | FileCheck %s --check-prefix=TRANSFER
// RUN: decant-opt %s --decant-materialize-format --mlir-print-local-scope | FileCheck %s --check-prefix=ROWS
// RUN: not decant-opt %s --decant-materialize-format=code-order=diagonals 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not decant-opt %s --decant-materialize-format=code-order=columns 2>&1 | FileCheck %s --check-prefix=FLOATS

!window = !decant.window<keyDim = 20, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// Fragments pad the keys to 16; rows, the default, to 8, and are not named.
// FORMAT: layout = #decant.layout<heads = 1, keyDim = 20, valueDim = 16, paddedKey = 32, paddedValue = 16,
// FORMAT-SAME: codeOrder = fragments, scales =
// FORMAT-SAME: codes = #decant.region<0, 32 x 16, i8>
// ROWS: paddedKey = 24, paddedValue = 16,
// ROWS-NOT: codeOrder
// WRONG: code-order: 'diagonals'; allowed are rows, fragments, columns
// FLOATS: code-order: columns are for float codes; the codes are int8

// A kernel of transfers is not one of tensor cores.
// TRANSFER-COUNT-2: schedule = #decant.schedule<strategy = simt,

// 16 keys on as many lanes, 16 values each: code by code, 64 bytes from one value
// to the next 7 (4 lanes of 2 tiles of 8), as the code plus 128.
// TILE-LABEL: decant.kernel @unpack_f32(
// TILE-DAG: %[[SIGN:.*]] = arith.constant dense<-128> : vector<16xi8>
// TILE: %[[CODES:.*]] = memref.view %{{.*}} to memref<1x512xi8
// TILE: %[[V0:.*]] = memref.load %[[CODES]][%c0, %[[AT:.*]]] : memref<1x512xi8
// TILE: %[[NEXT:.*]] = arith.addi %[[AT]], %c64
// TILE: %[[V1:.*]] = memref.load %[[CODES]][%c0, %[[NEXT]]]
// TILE: %[[ALL:.*]] = vector.from_elements %[[V0]], %[[V1]],
// TILE: %[[SIGNED:.*]] = arith.addi %[[ALL]], %[[SIGN]] : vector<16xi8>
// TILE: arith.sitofp %[[SIGNED]] : vector<16xi8> to vector<16xf32>
decant.kernel @unpack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<i8, <key, absmax, f32>>, target = #decant.target<"sm_90a">} {
  decant.return
}
