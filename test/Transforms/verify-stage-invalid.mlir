// RUN: split-file %s %t
// RUN: decant-opt %t/rule.mlir --decant-verify-stage=stage=rule --split-input-file --verify-diagnostics
// RUN: decant-opt %t/windowed.mlir --decant-verify-stage=stage=windowed --split-input-file --verify-diagnostics
// RUN: decant-opt %t/formatted.mlir --decant-verify-stage=stage=formatted --split-input-file --verify-diagnostics
// RUN: decant-opt %t/scheduled.mlir --decant-verify-stage=stage=scheduled --split-input-file --verify-diagnostics
// RUN: decant-opt %t/tiled.mlir --decant-verify-stage=stage=tiled --split-input-file --verify-diagnostics
// RUN: decant-opt %t/mapped.mlir --decant-verify-stage=stage=mapped --split-input-file --verify-diagnostics
// RUN: decant-opt %t/llvm.mlir --decant-verify-stage=stage=llvm --split-input-file --verify-diagnostics
// RUN: decant-opt %t/option-spec.mlir --decant-verify-stage=stage=spec --split-input-file --verify-diagnostics
// RUN: decant-opt %t/option-image.mlir --decant-verify-stage=stage=image --split-input-file --verify-diagnostics
// RUN: decant-opt %t/option-fast.mlir --decant-verify-stage=stage=fast --split-input-file --verify-diagnostics

// What an earlier pass left behind is named with that pass; what a later one makes
// is named with its stage.

//--- rule.mlir

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
decant.kernel @survivor(%w: !window) {
  // expected-error @+1 {{stage rule must not have the op decant.fill yet: it belongs to stage windowed and later}}
  %n = decant.fill %w : !window
  decant.return
}

// -----

!state = !decant.state<16x16>
!value = tensor<16xf32, #decant.axis<value>>
decant.rule @memory(%S: !state, %v: !value) {
  // expected-error @+1 {{stage rule must not use the dialect memref}}
  %m = memref.alloc() : memref<4xf32>
  decant.yield %S, %v : !state
}

//--- windowed.mlir

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
decant.rule @survivor(%S: !state, %v: !value) {
  // expected-error @+1 {{stage windowed must not have the op decant.yield: decant-expand-window should have consumed it}}
  decant.yield %S, %v : !state
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
decant.kernel @survivor(%S: !state, %q: !key, %v: !value, %a: f32) {
  // expected-error @+1 {{stage windowed must not have the op decant.decay: decant-expand-window should have consumed it}}
  %S1 = decant.decay %S, %a : !state, f32
  decant.return
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
decant.kernel @survivor(%S: !state, %q: !key, %v: !value, %a: f32) {
  // expected-error @+1 {{stage windowed must not have the op decant.read: decant-expand-window should have consumed it}}
  %o = decant.read %S, %q : !state
  decant.return
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
!state = !decant.state<16x16>
decant.kernel @survivor(%S: !state, %q: !key, %v: !value, %a: f32) {
  // expected-error @+1 {{stage windowed must not have the op decant.write: decant-expand-window should have consumed it}}
  %S1 = decant.write %S, %q, %v : !state
  decant.return
}

//--- formatted.mlir

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
!state = !decant.state<16x16>
decant.kernel @survivor(%w: !window, %S: !state) {
  // expected-error @+1 {{stage formatted must not have the op decant.rebuild: decant-materialize-format should have consumed it}}
  %S1 = decant.rebuild %w : !window -> !state
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
!state = !decant.state<16x16>
decant.kernel @survivor(%w: !window, %S: !state) {
  // expected-error @+1 {{stage formatted must not have the op decant.replace: decant-materialize-format should have consumed it}}
  decant.replace %w, %S : !window, !state
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
// expected-error-re @+1 {{stage formatted must not have an argument of type '!decant.window<keyDim = 16, {{.*}}>': decant-materialize-format should have consumed it}}
decant.kernel @survivor(%w: !window) {
  decant.return
}

// -----

// expected-error @+1 {{stage formatted must not have the attribute heads: decant-materialize-format should have consumed it}}
decant.kernel @survivor() attributes {heads = #decant.heads<key = 1, value = 1, map = group>} {
  decant.return
}

// -----

// expected-error @+1 {{stage formatted must not have the attribute inputs: decant-materialize-format should have consumed it}}
decant.kernel @survivor() attributes {inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = none>} {
  decant.return
}

// -----

// expected-error @+1 {{stage formatted must not have the attribute format: decant-materialize-format should have consumed it}}
decant.kernel @survivor() attributes {format = #decant.format<f32>} {
  decant.return
}

// -----

// The slot's number is 32 bits wide in memory. Times a stride of 2 MiB it would wrap
// at slot 1024.
decant.kernel @narrow(%slots: memref<1024xi32>, %at: index) {
  %slot = memref.load %slots[%at] : memref<1024xi32>
  %stride = arith.constant 2097152 : i32
  // expected-error @+1 {{computes with a 32-bit slot number; offsets are 64-bit}}
  %offset = arith.muli %slot, %stride : i32
  decant.return
}

// -----

// expected-error @+1 {{stage formatted must not have the attribute schedule yet: it belongs to stage scheduled and later}}
decant.kernel @hurried() attributes {schedule = #decant.schedule<strategy = simt, key_lanes = 1,
    value_lanes = 1, keys_per_lane = 16, values_per_lane = 16, rows = rolled>} {
  decant.return
}

// -----

decant.kernel @survivor() {
  // expected-error @+1 {{stage formatted must not have the op decant.lane yet: it belongs to stage tiled and later}}
  %lane = decant.lane <key>
  decant.return
}

//--- scheduled.mlir

// "From formatted on": an argument is refused at later stages, too.
!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
// expected-error-re @+1 {{stage scheduled must not have an argument of type '!decant.window<keyDim = 16, {{.*}}>': decant-materialize-format should have consumed it}}
decant.kernel @survivor(%w: !window) attributes {schedule = #decant.schedule<strategy = simt, key_lanes = 1,
    value_lanes = 1, keys_per_lane = 16, values_per_lane = 16, rows = rolled>} {
  decant.return
}

// -----

// expected-error @+1 {{stage scheduled needs a #decant.schedule on every kernel}}
decant.kernel @unscheduled() {
  decant.return
}

// -----

decant.kernel @survivor(%x: vector<4xf32>) {
  // expected-error @+1 {{stage scheduled must not use the dialect vector}}
  %y = vector.extract %x[0] : f32 from vector<4xf32>
  decant.return
}

//--- tiled.mlir

!key = tensor<16xf32, #decant.axis<key>>
decant.kernel @survivor(%q: !key, %a: f32) {
  // expected-error @+1 {{stage tiled must not have the op decant.scale: decant-tile-kernel should have consumed it}}
  %y = decant.scale %q, %a : !key
  decant.return
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
decant.kernel @survivor(%q: !key) {
  // expected-error @+1 {{stage tiled must not have the op decant.dot: decant-tile-kernel should have consumed it}}
  %y = decant.dot %q, %q : !key
  decant.return
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
decant.kernel @survivor(%a: f32) {
  // expected-error @+1 {{stage tiled must not have the op decant.broadcast: decant-tile-kernel should have consumed it}}
  %y = decant.broadcast %a : !key
  decant.return
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
decant.kernel @survivor(%slot: !decant.slot, %q: !key) {
  // expected-error @+1 {{stage tiled must not have the op decant.window_read: decant-tile-kernel should have consumed it}}
  %y = decant.window_read %slot, %q : (!decant.slot, !key) -> !value
  decant.return
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
decant.kernel @survivor(%slot: !decant.slot, %q: !key, %v: !value) {
  // expected-error @+1 {{stage tiled must not have the op decant.append: decant-tile-kernel should have consumed it}}
  decant.append %slot keys(%q : !key) values(%v : !value) : !decant.slot
  decant.return
}

// -----

decant.kernel @survivor(%slot: !decant.slot) {
  // expected-error @+1 {{stage tiled must not have the op decant.fold: decant-tile-kernel should have consumed it}}
  decant.fold %slot : !decant.slot
  decant.return
}

// -----

decant.kernel @survivor(%slot: !decant.slot) {
  // expected-error @+1 {{stage tiled must not have the op decant.fill: decant-tile-kernel should have consumed it}}
  %n = decant.fill %slot : !decant.slot
  decant.return
}

// -----

!pool = memref<1024xi8>
decant.kernel @survivor(%pool: !pool, %at: index) {
  // expected-error @+1 {{stage tiled must not have the op decant.slot: decant-tile-kernel should have consumed it}}
  %s = decant.slot %pool[%at] : !pool
  decant.return
}

// -----

!pool = memref<1024xi8>
decant.kernel @survivor(%slot: !decant.slot, %pool: !pool, %at: index) {
  // expected-error @+1 {{stage tiled must not have the op decant.touch_header: decant-tile-kernel should have consumed it}}
  decant.touch_header %slot, %pool[%at] head %at : !pool
  decant.return
}

// -----

!key = tensor<16xf32, #decant.axis<key>>
!rows = memref<1024xbf16>
decant.kernel @survivor(%rows: !rows, %at: index) {
  // expected-error @+1 {{stage tiled must not have the op decant.load: decant-tile-kernel should have consumed it}}
  %x = decant.load %rows[%at] : !rows -> !key
  decant.return
}

// -----

!value = tensor<16xf32, #decant.axis<value>>
!rows = memref<1024xbf16>
decant.kernel @survivor(%v: !value, %rows: !rows, %at: index) {
  // expected-error @+1 {{stage tiled must not have the op decant.store: decant-tile-kernel should have consumed it}}
  decant.store %v, %rows[%at] : !value, !rows
  decant.return
}

// -----

!rows = memref<1024xbf16>
decant.kernel @survivor(%slot: !decant.slot, %rows: !rows, %at: index) {
  // expected-error @+1 {{stage tiled must not have the op decant.pack: decant-tile-kernel should have consumed it}}
  decant.pack %slot, %rows[%at] strides(%at, %at) : !rows
  decant.return
}

// -----

!rows = memref<1024xbf16>
decant.kernel @survivor(%slot: !decant.slot, %rows: !rows, %at: index) {
  // expected-error @+1 {{stage tiled must not have the op decant.unpack: decant-tile-kernel should have consumed it}}
  decant.unpack %slot, %rows[%at] strides(%at, %at) : !rows
  decant.return
}

// -----

// expected-error @+1 {{stage tiled must not have the attribute schedule: decant-tile-kernel should have consumed it}}
decant.kernel @survivor() attributes {schedule = #decant.schedule<strategy = simt, key_lanes = 1,
    value_lanes = 1, keys_per_lane = 16, values_per_lane = 16, rows = rolled>} {
  decant.return
}

//--- mapped.mlir

decant.kernel @survivor() {
  // expected-error @+1 {{stage mapped must not have the op decant.block: decant-map-to-gpu or decant-map-to-cpu should have consumed it}}
  %row, %head = decant.block 4
  decant.return
}

// -----

decant.kernel @survivor() {
  // expected-error @+1 {{stage mapped must not have the op decant.lane: decant-map-to-gpu or decant-map-to-cpu should have consumed it}}
  %l = decant.lane <key>
  decant.return
}

// -----

decant.kernel @survivor(%x: f32) {
  // expected-error @+1 {{stage mapped must not have the op decant.lane_reduce: decant-map-to-gpu or decant-map-to-cpu should have consumed it}}
  %y = decant.lane_reduce add %x over <key> : f32
  decant.return
}

// -----

decant.kernel @survivor() {
  // expected-error @+1 {{stage mapped must not have the op decant.barrier: decant-map-to-gpu or decant-map-to-cpu should have consumed it}}
  decant.barrier
  decant.return
}

// -----

decant.kernel @survivor() {
  // expected-error @+1 {{stage mapped must not have the op decant.scratch: decant-map-to-gpu or decant-map-to-cpu should have consumed it}}
  %m = decant.scratch : memref<4x4xf32>
  decant.return
}

// -----

decant.kernel @survivor() {
  // expected-error @+1 {{stage mapped must not have the op decant.return: decant-map-to-gpu or decant-map-to-cpu should have consumed it}}
  decant.return
}

//--- llvm.mlir

func.func @unlowered(%x: f32) -> f32 {
  // expected-error @+1 {{stage llvm must not use the dialect math}}
  %y = math.exp %x : f32
  return %y : f32
}

// -----

llvm.func @cast(%x: i64) {
  // expected-error @+1 {{stage llvm must not have a cast that no lowering resolved}}
  %y = builtin.unrealized_conversion_cast %x : i64 to index
  llvm.return
}

//--- option-spec.mlir

// expected-error @+1 {{option stage is 'spec'; allowed are rule, windowed, formatted, scheduled, tiled, mapped, llvm}}
module {
}

//--- option-image.mlir

// expected-error @+1 {{option stage is 'image'; allowed are rule, windowed, formatted, scheduled, tiled, mapped, llvm}}
module {
}

//--- option-fast.mlir

// expected-error @+1 {{option stage is 'fast'; allowed are rule, windowed, formatted, scheduled, tiled, mapped, llvm}}
module {
}
