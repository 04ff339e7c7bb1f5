// RUN: decant-opt %s --decant-tile-kernel --canonicalize --cse | FileCheck %s
// RUN: sed 's/blocks_per_sm = 4>/blocks_per_sm = 4, fetch = bulk>/' %s | decant-opt --decant-tile-kernel --canonicalize --cse | FileCheck %s --check-prefix=BULK
// RUN: sed 's/blocks_per_sm = 4>/blocks_per_sm = 4, exchange = 8>/; s/%x = decant.load/%row, %head = decant.block 2 %x = decant.load/' %s | not decant-opt --decant-tile-kernel 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: error: kernel @step exchanges rows and has no argument state_stride
// RUN: sed 's/boundary = step, //' %s | decant-opt --decant-tile-kernel --canonicalize --cse | FileCheck %s --check-prefix=APART

// Strategy mma: 32 keys x 32 values of int8 in fragments, two warps of 16 values. A
// lane holds one key of a key vector; the first 16 lanes of a warp hold one value
// each of a value vector.

#layout = #decant.layout<heads = 2, keyDim = 32, valueDim = 32, paddedKey = 32, paddedValue = 32,
    window = 4, compensators = 2, writes = 1, keyDecay = scalar, valueDecay = none, headBytes = 2176, codeOrder = fragments,
    scales = [#decant.scale<key, sqrt_mean_abs, f32>, #decant.scale<value, absmax, f32>],
    regions = {codes = #decant.region<0, 32 x 32, i8>, key_scale = #decant.region<1024, 1 x 32, f32>,
               value_scale = #decant.region<1152, 1 x 32, f32>, comp_keys = #decant.region<1280, 2 x 32, f16>,
               comp_values = #decant.region<1408, 2 x 32, f16>, cursor = #decant.region<1536, 1 x 4, f32>,
               total_key_decay = #decant.region<1552, 1 x 1, f32>, record_key_decay = #decant.region<1568, 4 x 1, f32>,
               record_keys = #decant.region<1584, 4 x 32, f16>, record_values = #decant.region<1840, 4 x 32, f16>}>
#schedule = #decant.schedule<strategy = mma, key_lanes = 32, value_lanes = 2, keys_per_lane = 1,
    values_per_lane = 16, rows = unrolled, boundary = step, blocks_per_sm = 4>
!pool = memref<1048576xi8>
!rows = memref<1048576xf32>
!key = tensor<32xf32, #decant.axis<key>>
!value = tensor<32xf32, #decant.axis<value>>

// One function folds, for step and commit.
// CHECK-LABEL: decant.kernel @fold(
// CHECK-SAME: %state: memref<1048576xi8>, %offset: i64) attributes {called, lanes = array<i64: 32, 2>
// CHECK: %[[SHARED:.*]] = decant.scratch : memref<3200xi8, #gpu.address_space<workgroup>>
// Panels of 4 records, 2 compensators and 2 new ones, with 8 elements between rows.
// CHECK: %[[FOLDKEYS:.*]] = memref.view %[[SHARED]][%c0][] {{.*}} to memref<8x40xf16,
// CHECK: %[[FOLDVALUES:.*]] = memref.view %[[SHARED]][%c640][] {{.*}} to memref<8x40xf16,
// CHECK: decant.copy_wait
// CHECK: decant.lane_reduce magnitude
// S Q sums over values: scores of the terms' values with the two columns, then the
// codes' tiles transposed, four quarters of each; the bias of the codes has a sum of
// its own. Terms are added by a product over 8 terms.
// CHECK: decant.load_tile %{{.*}}[%c0, %c0] lane %{{.*}} right rows 2 : memref<2x40xf16,
// CHECK: decant.load_tile %[[FOLDVALUES]][%c0, %c0] lane %{{.*}} rows 8 : {{.*}} -> vector<8xf16>
// CHECK: decant.transpose
// CHECK: decant.unpack_codes %{{.*}} biased : vector<8xi8> -> vector<8xf16>
// CHECK-COUNT-4: decant.transpose %{{.*}} : vector<2xf16>
// CHECK: decant.mma %cst{{.*}} : vector<8xf16>, vector<4xf16>
// CHECK: decant.load_tile %[[FOLDKEYS]][%c0, %c0] lane %{{.*}} transposed : {{.*}} -> vector<4xf16>
// CHECK-NEXT: decant.mma {{.*}} : vector<4xf16>, vector<2xf16>, vector<4xf32>
// The residual: codes by diagonals of scales, as high part and rest, then terms.
// A lane holds two elements of a column, and takes those on the diagonal by a mask.
// The lane's number is found anew: addresses of the fit do not live until here.
// CHECK: decant.lane <key> anew
// CHECK: %[[DIAGONAL:.*]] = memref.view %[[SHARED]][{{.*}} to memref<32x4xf16,
// CHECK: decant.load_tile %[[FOLDKEYS]][%c0, %{{.*}}] lane %{{.*}} right transposed : {{.*}} -> vector<4xf16>
// CHECK: vector.load %[[DIAGONAL]][{{.*}} vector<4xf16>
// CHECK: arith.andi %{{.*}}, %{{.*}} : vector<2xi32>
// CHECK: decant.mma {{.*}} : vector<4xf16>, vector<2xf16>, vector<4xf32>
// CHECK-NEXT: decant.mma {{.*}} : vector<4xf16>, vector<2xf16>, vector<4xf32>
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: decant.mma {{.*}} : vector<4xf16>, vector<2xf16>, vector<4xf32>
// CHECK: decant.lane_reduce max %{{.*}} over <key> from 1 until 4 : vector<2xf32>
// CHECK: decant.pack_codes %{{.*}} scale %{{.*}} : vector<8xf16> : vector<8xf16> -> vector<8xi8>
// CHECK: decant.pack_codes
// CHECK: vector.store %{{.*}}, %{{.*}}[%c0, %{{.*}}] {alignment = 16 : i64} : memref<1x1024xi8>, vector<16xi8>
// CHECK: memref.store %c0_i32, %{{.*}} : memref<1x4xi32>

// CHECK-LABEL: decant.kernel @step(
// CHECK-SAME: attributes {blocks_per_sm = 4 : i64, lanes = array<i64: 32, 2>
// CHECK: %[[KL:.*]] = decant.lane <key>
// CHECK: %[[VL:.*]] = decant.lane <value>
// CHECK: %[[WARP:.*]] = arith.muli %[[VL]], %c16 : index
// CHECK: %[[VALUE:.*]] = arith.addi %[[WARP]], %[[KL]] : index
// CHECK: vector.load %k[
// CHECK: vector.load %q[
// CHECK: memref.load %v[
// Shared memory of the read alone: the fold's is laid over it.
// CHECK: %[[SHARED:.*]] = decant.scratch : memref<2512xi8, #gpu.address_space<workgroup>>
// Panels of 4 records, then 2 compensators, up to 8 terms, with 8 elements between
// them: 8 x 40 x 2 bytes; one weight for each row of a tile.
// CHECK: %[[KEYS:.*]] = memref.view %[[SHARED]][%c0][] {{.*}} to memref<8x40xf16,
// CHECK: %[[VALUES:.*]] = memref.view %[[SHARED]][%c640][] {{.*}} to memref<8x40xf16,
// CHECK: %[[WEIGHTS:.*]] = memref.view %[[SHARED]][%c1280][] {{.*}} to memref<1x16xf32,
// Everything that the head holds is on its way before the first wait: the fill, two
// tiles of 8 codes a lane, the scales, and 16 bytes a lane of compensators and
// records, zeros beyond the fill.
// CHECK-NOT: decant.barrier
// CHECK-NOT: decant.copy_wait
// CHECK: %[[WORD:.*]] = memref.load %{{.*}}[%c0, %c0] : memref<1x4xi32>
// CHECK: %[[FILL:.*]] = arith.index_castui %[[WORD]] : i32 to index
// CHECK: %[[CODES:.*]] = vector.load %[[STORED:.*]][%c0, %{{.*}}] {alignment = 16 : i64} : memref<1x1024xi8>, vector<16xi8>
// CHECK: vector.load {{.*}} memref<1x32xf32>
// CHECK: decant.copy_async %{{.*}} to %[[KEYS]][%{{.*}}] if %true : memref<2x32xf16>,
// CHECK: decant.copy_async %{{.*}} to %[[VALUES]][%{{.*}}] if %true : memref<2x32xf16>,
// CHECK: %[[VALID:.*]] = arith.cmpi ult, %{{.*}}, %[[FILL]] : index
// CHECK: decant.copy_async %{{.*}} to %[[KEYS]][%{{.*}}] if %[[VALID]] : memref<4x32xf16>,
// CHECK: decant.copy_async %{{.*}} to %[[VALUES]][%{{.*}}] if %[[VALID]] : memref<4x32xf16>,
// Decays since a record: a scan over the lanes of a warp, log2(4) steps.
// CHECK: decant.lane_shift %{{.*}} by 1 : f32
// CHECK: decant.lane_shift %{{.*}} by 2 : f32
// CHECK-NOT: decant.lane_shift
// Two vectors as high part and rest are four rows; both forms of each, with the key
// scales and without, are eight. Each warp of two picks an operand by its number, in
// two rounds, and brings it to the range of f16.
// CHECK: %[[BOTH:.*]] = memref.view %[[SHARED]][%c1344][] {{.*}} to memref<8x40xf16,
// CHECK: %[[FOLDED:.*]] = memref.view %[[SHARED]][%c1344][] {{.*}} to memref<4x40xf16,
// CHECK: %[[PLAIN:.*]] = memref.view %[[SHARED]][{{.*}} to memref<4x40xf16,
// CHECK: %[[FACTORS:.*]] = memref.view %[[SHARED]][{{.*}} to memref<1x4xf32,
// CHECK: %[[OTHER:.*]] = arith.cmpi eq, %[[N:.*]], %c1 : index
// CHECK: arith.select %[[OTHER]], %{{.*}}, %{{.*}} : vector<1xf32>
// CHECK: decant.lane_reduce magnitude %{{.*}} over <key> : vector<1xf32>
// CHECK: vector.store %{{.*}}, %[[BOTH]][
// CHECK: memref.store %{{.*}}, %[[FACTORS]][%c0, %[[N]]] : memref<1x4xf32,
// CHECK: decant.lane_reduce magnitude %{{.*}} over <key> : vector<1xf32>
// CHECK-NOT: decant.lane_reduce
// CHECK-NOT: decant.barrier
// CHECK: decant.copy_wait
// CHECK-NEXT: decant.barrier
// Scores over two tiles of keys, few enough for each warp to form them all, stay in
// registers; then the codes, two tiles, biased, from what takes the bias off; then
// the scores as high part and rest, and the terms.
// CHECK: decant.load_tile %[[PLAIN]][%c0, %c0] lane %[[KL]] right rows 4 : {{.*}} -> vector<8xf16>
// CHECK: %[[S:.*]] = decant.mma %{{.*}}, %{{.*}}, %[[ZERO:.*]] : vector<8xf16>
// CHECK: decant.mma %{{.*}}, %{{.*}}, %[[S]] : vector<8xf16>
// CHECK-NOT: decant.barrier
// CHECK: decant.load_tile %[[FOLDED]][%c0, %c0] lane %[[KL]] right rows 4 : {{.*}} -> vector<8xf16>
// CHECK: %[[B:.*]] = decant.mma %[[BIAS:.*]], %[[X0:.*]], %[[ZERO]]
// CHECK: %[[START:.*]] = decant.mma %[[BIAS]], %[[X1:.*]], %[[B]]
// CHECK: %[[LOW:.*]] = vector.extract_strided_slice %[[CODES]] {offsets = [0], sizes = [8]
// CHECK: %[[A0:.*]] = decant.unpack_codes %[[LOW]] biased : vector<8xi8> -> vector<8xf16>
// CHECK: %[[P:.*]] = decant.mma %[[A0]], %[[X0]], %[[START]]
// CHECK: %[[HIGH:.*]] = vector.extract_strided_slice %[[CODES]] {offsets = [8], sizes = [8]
// CHECK: %[[A1:.*]] = decant.unpack_codes %[[HIGH]] biased : vector<8xi8>
// CHECK: decant.mma %[[A1]], %{{.*}}, %[[P]]
// CHECK: %[[SCORES:.*]] = decant.transpose
// CHECK: %[[U:.*]] = decant.load_tile %[[VALUES]][%c0, %{{.*}}] lane %[[KL]] transposed : {{.*}} -> vector<4xf16>
// CHECK: decant.mma %[[U]], %[[SCORES]], %[[ZERO]] : vector<4xf16>, vector<2xf16>
// CHECK: decant.barrier warp

// The token becomes a record where there is room. When it was the last, the block
// folds the window, as the last thing that it does.
// CHECK: %[[ROOM:.*]] = arith.cmpi ult, %[[FILL]], %c4 : index
// CHECK: scf.if %[[ROOM]] {
// CHECK: memref.store %{{.*}} : memref<1x2xi64>
// CHECK: %[[NEXT:.*]] = arith.addi %[[FILL]], %c1 : index
// CHECK: %[[FULL:.*]] = arith.cmpi uge, %[[NEXT]], %c4 : index
// CHECK: memref.store %{{.*}}, %out[
// CHECK: scf.if %[[FULL]] {
// CHECK-NEXT: decant.barrier
// CHECK: decant.call @fold(%state, %{{.*}}) : memref<1048576xi8>, i64
// CHECK-NEXT: }
// CHECK-NEXT: decant.return

// A boundary of its own leaves the step without a fold, and with less memory.
// APART-LABEL: decant.kernel @step(
// APART: decant.scratch : memref<2512xi8,
// APART-NOT: decant.call
// APART-NOT: decant.pack_codes
// APART-NOT: arith.cmpi uge
// APART-LABEL: decant.kernel @commit(
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

// A commit that is not due touches nothing but the fill.
// CHECK-LABEL: decant.kernel @commit(
// CHECK: %[[FILL:.*]] = memref.load %{{.*}} : memref<1x4xi32>
// CHECK-NOT: decant.copy_async
// CHECK-NOT: vector.load
// CHECK: scf.if %{{.*}} {
// CHECK: decant.call @fold(
decant.kernel @commit(%state: !pool, %at: index, %min_fill: i64) attributes {
    layout = #layout, schedule = #schedule, target = #decant.target<"sm_90a">} {
  %slot = decant.slot %state[%at] : !pool
  %fill = decant.fill %slot : !decant.slot
  %due = arith.cmpi sge, %fill, %min_fill : i64
  scf.if %due {
    decant.fold %slot : !decant.slot
  }
  decant.return
}

// One lane fetches all codes of a head into shared memory; whoever reads them waits.
// A fold fetches them itself, since bulk copies do not see what a block has written.
// BULK-LABEL: decant.kernel @fold(
// BULK-NOT: bulk
// BULK-COUNT-1: decant.copy_async %{{.*}} : memref<1x1024xi8>, memref<1x1024xi8, #gpu.address_space<workgroup>>
// BULK-LABEL: decant.kernel @step(
// BULK: decant.bulk_start %[[ARRIVAL:.*]] :
// BULK: decant.barrier warp
// BULK: decant.bulk_expect %c1024 by %[[ARRIVAL]]
// BULK-NEXT: decant.bulk_copy %c1024 of %{{.*}} to %[[STAGED:.*]][%c0, %c0] by %[[ARRIVAL]] : memref<1x1024xi8>
// Codes do not wait for records.
// BULK-NOT: decant.copy_wait
// BULK: decant.bulk_wait %[[ARRIVAL]]
// BULK: vector.load %[[STAGED]][
// BULK: decant.unpack_codes
// BULK: decant.copy_wait
// BULK-NEXT: decant.barrier
// The fold's scratch lies where the arrival was.
// BULK: decant.barrier
// BULK: decant.bulk_end %[[ARRIVAL]]
// BULK: decant.barrier
// BULK: decant.call @fold(
