// RUN: decant-opt %s --split-input-file --decant-materialize-format --decant-assign-schedule --decant-tile-kernel --canonicalize --cse | FileCheck %s

!window = !decant.window<keyDim = 64, valueDim = 32, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// mxfp4: 2 blocks of 32 keys for each of 32 values. A lane scales each row of
// its 16 values by the row of powers of two that its block of keys has; a power
// of two is an f32 exponent.
// CHECK-LABEL: decant.kernel @unpack_f32(
// CHECK-DAG: %[[CODES:.*]] = memref.view %{{.*}} to memref<1x1024xi8
// CHECK-DAG: %[[SCALES:.*]] = memref.view %{{.*}} to memref<2x32xi8
// CHECK: vector.load %[[CODES]]{{.*}} : memref<1x1024xi8{{.*}}>, vector<8xi8>
// CHECK: %[[BLOCK:.*]] = arith.divui %{{.*}}, %c32
// CHECK: %[[BYTES:.*]] = vector.load %[[SCALES]][%[[BLOCK]], %{{.*}}] {{.*}}vector<16xi8>
// CHECK: %[[WIDE:.*]] = arith.extui %[[BYTES]] : vector<16xi8> to vector<16xi32>
// CHECK: %[[EXPONENT:.*]] = arith.shli %[[WIDE]], %{{.*}} : vector<16xi32>
// CHECK: %[[SCALE:.*]] = arith.bitcast %[[EXPONENT]] : vector<16xi32> to vector<16xf32>
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : vector<16xf32>
decant.kernel @unpack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<f4E2M1FN, <value, absmax, f8E8M0FNU, block 32>>, target = #decant.target<"sm_90a">} {
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 32, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// A row's offset makes one fma of its scale.
// CHECK-LABEL: decant.kernel @unpack_f32(
// CHECK-DAG: %[[SCALES:.*]] = memref.view %{{.*}} to memref<16x1xf16
// CHECK-DAG: %[[OFFSETS:.*]] = memref.view %{{.*}} to memref<16x1xf16
// CHECK: memref.load %{{.*}}[%[[ROW:.*]], %c0] : memref<16x1xf16
// CHECK: memref.load %{{.*}}[%[[ROW]], %c0] : memref<16x1xf16
// CHECK: vector.fma
decant.kernel @unpack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<i8, <key, minmax, f16>>, target = #decant.target<"sm_90a">} {
  decant.return
}
