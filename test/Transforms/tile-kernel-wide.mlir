// RUN: decant-opt %s --decant-tile-kernel --canonicalize --cse | FileCheck %s
// RUN: sed 's/blocks_per_sm = 4>/blocks_per_sm = 4, fetch = bulk>/' %s | decant-opt --decant-tile-kernel --canonicalize --cse | FileCheck %s --check-prefix=BULK

// Codes of f32 under strategy mma: 32 keys x 32 values, two warps of 16 values, so that a
// lane has four loads of 16 bytes, each half a tile.

#layout = #decant.layout<heads = 1, keyDim = 32, valueDim = 32, paddedKey = 32, paddedValue = 32,
    window = 4, compensators = 0, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 4736, codeOrder = fragments,
    scales = [],
    regions = {codes = #decant.region<0, 32 x 32, f32>, cursor = #decant.region<4096, 1 x 4, f32>,
               total_key_decay = #decant.region<4112, 1 x 1, f32>, record_key_decay = #decant.region<4128, 4 x 1, f32>,
               record_keys = #decant.region<4144, 4 x 32, f16>, record_values = #decant.region<4400, 4 x 32, f16>}>
#schedule = #decant.schedule<strategy = mma, key_lanes = 32, value_lanes = 2, keys_per_lane = 1,
    values_per_lane = 16, rows = unrolled, boundary = step, blocks_per_sm = 4>
!pool = memref<1048576xi8>
!rows = memref<1048576xf32>
!key = tensor<32xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// A fold loads its codes before it waits for records. The values of those come under
// their weights as high part and rest; what both products make is added to the code
// under the total decay, in f32, and that is all that is stored.
// CHECK-LABEL: decant.kernel @fold(
// CHECK: %[[TOTAL:.*]] = memref.load %{{.*}} : memref<1x1xf32>
// CHECK: %[[OLD:.*]] = vector.load %[[STORED:.*]][%c0, %[[AT:.*]]] {alignment = 16 : i64} : memref<1x1024xf32>, vector<4xf32>
// CHECK-COUNT-3: vector.load %[[STORED]][%c0, %{{.*}}] {alignment = 16 : i64} : memref<1x1024xf32>, vector<4xf32>
// CHECK: decant.copy_wait
// CHECK: decant.load_tile %{{.*}}[%c0, %{{.*}}] lane %{{.*}} transposed : {{.*}} -> vector<4xf16>
// CHECK: %[[WEIGHED:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: %[[HIGH:.*]] = arith.truncf %[[WEIGHED]] : vector<4xf32> to vector<4xf16>
// CHECK: %[[BACK:.*]] = arith.extf %[[HIGH]]
// CHECK: %[[LEFT:.*]] = arith.subf %[[WEIGHED]], %[[BACK]]
// CHECK: %[[REST:.*]] = arith.truncf %[[LEFT]] : vector<4xf32> to vector<4xf16>
// CHECK: decant.load_tile %{{.*}}[%c0, %c0] lane %{{.*}} right transposed : {{.*}} -> vector<4xf16>
// CHECK: %[[FIRST:.*]] = decant.mma %[[REST]], %[[KEYS:.*]], %{{.*}} : vector<4xf16>, vector<2xf16>, vector<4xf32>
// CHECK: %[[PRODUCT:.*]] = decant.mma %[[HIGH]], %[[KEYS]], %[[FIRST]] : vector<4xf16>, vector<2xf16>, vector<4xf32>
// CHECK: %[[NEW:.*]] = vector.fma %[[OLD]], %{{.*}}, %[[PRODUCT]] : vector<4xf32>
// CHECK: vector.store %[[NEW]], %[[STORED]][%c0, %[[AT]]] {alignment = 16 : i64} : memref<1x1024xf32>, vector<4xf32>
// CHECK-NOT: decant.pack_codes

// A step loads its codes before it waits for anything.
// CHECK-LABEL: decant.kernel @step(
// CHECK: %[[SHARED:.*]] = decant.scratch
// CHECK-NOT: decant.barrier
// CHECK: %[[A:.*]] = vector.load %{{.*}}[%c0, %{{.*}}] {alignment = 16 : i64} : memref<1x1024xf32>, vector<4xf32>
// CHECK-COUNT-3: vector.load %{{.*}}[%c0, %{{.*}}] {alignment = 16 : i64} : memref<1x1024xf32>, vector<4xf32>
// CHECK: decant.copy_async
// Vectors as they are, in pairs of keys, for the codes; for the terms in two parts.
// CHECK: %[[COLUMNS:.*]] = memref.view %[[SHARED]][{{.*}} to memref<16x4xf32,
// CHECK: %[[PLAIN:.*]] = memref.view %[[SHARED]][{{.*}} to memref<4x40xf16,
// CHECK: %[[PARTS:.*]] = memref.view %[[SHARED]][{{.*}} to memref<2x128xf32,
// CHECK: vector.store %{{.*}}, %[[COLUMNS]][
// CHECK: vector.store %{{.*}}, %[[PLAIN]][
// CHECK: decant.copy_wait
// CHECK-NEXT: decant.barrier
// Scores of the records, then the codes: two values by two keys a load, by both
// vectors; no product of tensor cores has them.
// CHECK: decant.mma
// CHECK: %[[X:.*]] = vector.load %[[COLUMNS]][%{{.*}}, %c0] {alignment = 16 : i64} : {{.*}} vector<4xf32>
// CHECK: %[[EVEN:.*]] = vector.shuffle %[[A]], %[[A]] [0, 2]
// CHECK: %[[ODD:.*]] = vector.shuffle %[[A]], %[[A]] [1, 3]
// CHECK: vector.fma %[[EVEN]], %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: vector.fma %[[ODD]], %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK-NOT: decant.mma
// CHECK: memref.store %{{.*}}, %[[PARTS]][%c1, %{{.*}}] : memref<2x128xf32,
// Four lanes have left parts of a value, which its thread adds up.
// CHECK: decant.barrier warp
// CHECK: vector.load %[[PARTS]][%c0, %{{.*}}] {alignment = 16 : i64} : {{.*}} vector<4xf32>

// A bulk copy brings them to shared memory; a fold takes its own from the slot.
// BULK-LABEL: decant.kernel @fold(
// BULK-NOT: decant.bulk_copy
// BULK-LABEL: decant.kernel @step(
// BULK: decant.bulk_copy %c4096 of
// BULK: decant.bulk_wait
// BULK: vector.load %{{.*}}[%c0, %{{.*}}] {alignment = 16 : i64} : memref<1x1024xf32, #gpu.address_space<workgroup>>, vector<4xf32>
decant.kernel @step(%state: !pool, %k: !rows, %q: !rows, %v: !rows, %g: f32, %out: !rows, %at: index) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %x = decant.load %k[%at] : !rows -> !key
  %y = decant.load %q[%at] : !rows -> !key
  %u = decant.load %v[%at] : !rows -> !value
  %slot = decant.slot %state[%at] : !pool
  %p, %o = decant.window_read %slot, %x, %y : (!decant.slot, !key, !key) -> (!value, !value)
  %r = arith.subf %u, %p : !value
  decant.append %slot key_decay(%g : f32) keys(%x : !key) values(%r : !value) : !decant.slot
  decant.make_room %slot : !decant.slot
  decant.store %o, %out[%at] : !value, !rows
  decant.return
}
