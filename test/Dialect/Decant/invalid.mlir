// RUN: decant-opt %s --split-input-file --verify-diagnostics

// The constraints of decant.rule, by number.

// expected-error @+1 {{the first argument must be a state (rule_c1)}}
decant.rule @rule_c1(%q: tensor<4xf32, #decant.axis<key>>, %S: !decant.state<4x8>) {
  %o = decant.read %S, %q : !decant.state<4x8>
  decant.yield %S, %o : !decant.state<4x8>
}

// -----

// A second state has no meaning.
// expected-error @+1 {{argument 2 has type '!decant.state<4x8>'; f32, a key vector or a value vector is needed (rule_c2)}}
decant.rule @rule_c2_state(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>, %T: !decant.state<4x8>) {
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// A tensor that does not name its axis.
// expected-error @+1 {{argument 2 has type 'tensor<4xf32>'; f32, a key vector or a value vector is needed (rule_c2)}}
decant.rule @rule_c2_axis(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>, %q: tensor<4xf32>) {
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// expected-error @+1 {{argument 2 has type 'f16'; f32, a key vector or a value vector is needed (rule_c2)}}
decant.rule @rule_c2_type(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>, %g: f16) {
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// expected-error @+1 {{argument 1 has type 'tensor<8xf32, #decant.axis<key>>', the state is '!decant.state<4x8>' (rule_c3)}}
decant.rule @rule_c3_key(%S: !decant.state<4x8>, %q: tensor<8xf32, #decant.axis<key>>, %v: tensor<8xf32, #decant.axis<value>>) {
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// An open dim does not match a fixed one: it would be bound later than checked.
// expected-error @+1 {{argument 1 has type 'tensor<?xf32, #decant.axis<value>>', the state is '!decant.state<4x8>' (rule_c3)}}
decant.rule @rule_c3_open(%S: !decant.state<4x8>, %v: tensor<?xf32, #decant.axis<value>>, %u: tensor<8xf32, #decant.axis<value>>) {
  decant.yield %S, %u : !decant.state<4x8>
}

// -----

// expected-error @+1 {{the body must yield a '!decant.state<4x8>' and a value vector (rule_c4)}}
decant.rule @rule_c4(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>) {
  %T = builtin.unrealized_conversion_cast %S : !decant.state<4x8> to !decant.state<8x8>
  decant.yield %T, %v : !decant.state<8x8>
}

// -----

// expected-error @+1 {{argument 1 is carried and has type 'tensor<8xf32, #decant.axis<value>>'; a key vector is needed (rule_c5)}}
decant.rule @rule_c5_axis(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>> {carried}) {
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// expected-error @+1 {{the body yields 0 vectors beside the state and the output, and 1 arguments are carried (rule_c5)}}
decant.rule @rule_c5_count(%S: !decant.state<4x8>, %z: tensor<4xf32, #decant.axis<key>> {carried}) {
  %o = decant.read %S, %z : !decant.state<4x8>
  decant.yield %S, %o : !decant.state<4x8>
}

// -----

// expected-error @+1 {{argument %v has {shared}; allowed is one of {gate}, {layer}, {carried}}}
decant.rule @source_word(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>> {shared}) {
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// expected-error @+1 {{argument %v has {gate, layer}; allowed is one of {gate}, {layer}, {carried}}}
decant.rule @two_sources(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>> {gate, layer}) {
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

decant.rule @ends_as_a_kernel(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>) {
  // expected-error @+1 {{expects parent op 'decant.kernel'}}
  decant.return
}

// -----

// expected-error @+1 {{expects a non-empty block}}
decant.rule @empty(%S: !decant.state<4x8>) {
}

// -----

// The constraints of decant.decode.

// expected-error @+1 {{the first argument must be a state (decode_c1)}}
decant.decode @decode_c1_first heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%v: tensor<16xf32, #decant.axis<value>>, %S: !decant.state<16x16>) {
  decant.yield %S, %v : !decant.state<16x16>
}

// -----

// expected-error @+1 {{the state is '!decant.state<?x16>'; dims must be within 16..256 (decode_c1)}}
decant.decode @decode_c1_open heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !decant.state<?x16>, %v: tensor<16xf32, #decant.axis<value>>) {
  decant.yield %S, %v : !decant.state<?x16>
}

// -----

// expected-error @+1 {{the state is '!decant.state<16x257>'; dims must be within 16..256 (decode_c1)}}
decant.decode @decode_c1_large heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !decant.state<16x257>, %v: tensor<257xf32, #decant.axis<value>>) {
  decant.yield %S, %v : !decant.state<16x257>
}

// -----

// expected-error @+1 {{argument 2 has type 'bf16'; f32, a key vector or a value vector is needed (decode_c2)}}
decant.decode @decode_c2 heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !decant.state<16x16>, %v: tensor<16xf32, #decant.axis<value>>, %decay: bf16) {
  decant.yield %S, %v : !decant.state<16x16>
}

// -----

// expected-error @+1 {{argument 1 has type 'tensor<32xf32, #decant.axis<value>>', the state is '!decant.state<16x16>' (decode_c3)}}
decant.decode @decode_c3 heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !decant.state<16x16>, %v: tensor<32xf32, #decant.axis<value>>, %u: tensor<16xf32, #decant.axis<value>>) {
  decant.yield %S, %u : !decant.state<16x16>
}

// -----

// A question may not be left out.
// expected-error @+2 {{expected 'window'}}
decant.decode @no_window heads <key = 1, value = 1, map = group>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative> format <f32> target <"x86-64">
    (%S: !decant.state<16x16>, %v: tensor<16xf32, #decant.axis<value>>) {
  decant.yield %S, %v : !decant.state<16x16>
}

// -----

// expected-error @+2 {{failed to parse Decant_HeadsAttr parameter 'map'}}
// expected-error @+1 {{expected ::decant::HeadMapKind to be one of: group, modulo}}
decant.decode @unknown_map heads <key = 1, value = 1, map = striped>
    inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
    window <length = 1, compensators = 0, records = f16> format <f32> target <"x86-64">
    (%S: !decant.state<16x16>, %v: tensor<16xf32, #decant.axis<value>>) {
  decant.yield %S, %v : !decant.state<16x16>
}

// -----

// Rule ops. The generic form reaches the verifiers that the short syntax cannot miss.

decant.rule @decay_c1(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>, %g: f32) {
  %long = decant.broadcast %g : tensor<8xf32, #decant.axis<key>>
  // expected-error @+1 {{the state is '!decant.state<4x8>', but a vector is 'tensor<8xf32, #decant.axis<key>>' (decay_c1)}}
  %S1 = decant.decay %S, %long : !decant.state<4x8>, tensor<8xf32, #decant.axis<key>>
  decant.yield %S1, %v : !decant.state<4x8>
}

// -----

decant.rule @decay_factor(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>) {
  %half = arith.constant 0.5 : f16
  // expected-error @+1 {{operand #1 must be 32-bit float or Key vector (tensor<?xf32, #decant.axis<...>>) or Value vector (tensor<?xf32, #decant.axis<...>>), but got 'f16'}}
  %S1 = decant.decay %S, %half : !decant.state<4x8>, f16
  decant.yield %S1, %v : !decant.state<4x8>
}

// -----

decant.rule @read_c1(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>, %g: f32) {
  %long = decant.broadcast %g : tensor<8xf32, #decant.axis<key>>
  // expected-error @+1 {{the state is '!decant.state<4x8>', but a vector is 'tensor<8xf32, #decant.axis<key>>' (read_c1)}}
  %o = "decant.read"(%S, %long) : (!decant.state<4x8>, tensor<8xf32, #decant.axis<key>>) -> tensor<8xf32, #decant.axis<value>>
  decant.yield %S, %o : !decant.state<4x8>
}

// -----

decant.rule @read_c1_result(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>, %v: tensor<8xf32, #decant.axis<value>>) {
  // expected-error @+1 {{the state is '!decant.state<4x8>', but a vector is 'tensor<4xf32, #decant.axis<value>>' (read_c1)}}
  %o = "decant.read"(%S, %q) : (!decant.state<4x8>, tensor<4xf32, #decant.axis<key>>) -> tensor<4xf32, #decant.axis<value>>
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// A read sums over the key axis, so a value vector cannot be read with.
// expected-note @+1 {{prior use here}}
decant.rule @read_axis(%S: !decant.state<4x4>, %v: tensor<4xf32, #decant.axis<value>>) {
  // expected-error @+1 {{use of value '%v' expects different type than prior uses: 'tensor<4xf32, #decant.axis<key>>' vs 'tensor<4xf32, #decant.axis<value>>'}}
  %o = decant.read %S, %v : !decant.state<4x4>
  decant.yield %S, %o : !decant.state<4x4>
}

// -----

decant.rule @write_c1(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>, %v: tensor<8xf32, #decant.axis<value>>, %g: f32) {
  %long = decant.broadcast %g : tensor<8xf32, #decant.axis<key>>
  // expected-error @+1 {{the state is '!decant.state<4x8>', but a vector is 'tensor<8xf32, #decant.axis<key>>' (write_c1)}}
  %S1 = "decant.write"(%S, %long, %v) : (!decant.state<4x8>, tensor<8xf32, #decant.axis<key>>, tensor<8xf32, #decant.axis<value>>) -> !decant.state<4x8>
  decant.yield %S1, %v : !decant.state<4x8>
}

// -----

decant.rule @write_c1_value(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>, %v: tensor<8xf32, #decant.axis<value>>, %g: f32) {
  %short = decant.broadcast %g : tensor<4xf32, #decant.axis<value>>
  // expected-error @+1 {{the state is '!decant.state<4x8>', but a vector is 'tensor<4xf32, #decant.axis<value>>' (write_c1)}}
  %S1 = "decant.write"(%S, %q, %short) : (!decant.state<4x8>, tensor<4xf32, #decant.axis<key>>, tensor<4xf32, #decant.axis<value>>) -> !decant.state<4x8>
  decant.yield %S1, %v : !decant.state<4x8>
}

// -----

decant.rule @dot_axes(%S: !decant.state<4x4>, %q: tensor<4xf32, #decant.axis<key>>, %v: tensor<4xf32, #decant.axis<value>>) {
  // expected-error @+1 {{failed to verify that all of {lhs, rhs} have same type}}
  %d = "decant.dot"(%q, %v) : (tensor<4xf32, #decant.axis<key>>, tensor<4xf32, #decant.axis<value>>) -> f32
  decant.yield %S, %v : !decant.state<4x4>
}

// -----

// Window ops.

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
decant.kernel @window_read_c1(%w: !window) {
  // expected-error @+1 {{reads 0 vectors into 0 results; as many are needed, at least one (window_read_c1)}}
  decant.window_read %w, : (!window) -> ()
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
!key = tensor<16xf32, #decant.axis<key>>
decant.kernel @window_read_c1_results(%w: !window, %k: !key, %q: !key) {
  // expected-error @+1 {{reads 2 vectors into 1 results; as many are needed, at least one (window_read_c1)}}
  %y = decant.window_read %w, %k, %q : (!window, !key, !key) -> tensor<16xf32, #decant.axis<value>>
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
decant.kernel @append_c1(%w: !window, %k: !key, %u: !value) {
  // expected-error @+1 {{has 2 keys and 1 values (append_c1)}}
  decant.append %w keys(%k, %k : !key, !key) values(%u : !value) : !window
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
decant.kernel @after_c1(%w: !window, %token: index) {
  // expected-error @+1 {{its tokens must be 2 or more (after_c1)}}
  %now = decant.after %w drafts %token : !window
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 1, compensators = 0,
    records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
!key = tensor<16xf32, #decant.axis<key>>
!value = tensor<16xf32, #decant.axis<value>>
decant.kernel @fold_c1(%w: !window, %k: !key, %u: !value) {
  // expected-error @+1 {{has 1 keys and 2 values (fold_c1)}}
  decant.fold %w keys(%k : !key) values(%u, %u : !value, !value) : !window
  decant.return
}

// -----

// Kernel ops.

// expected-note @+1 {{prior use here}}
decant.kernel @reduce_type(%x: f32) attributes {lanes = array<i64: 8, 4>} {
  // expected-error @+1 {{expects different type than prior uses: 'f64' vs 'f32'}}
  %y = decant.lane_reduce add %x over <key> : f64
  decant.return
}

// -----

decant.kernel @reduce_element(%x: f64) attributes {lanes = array<i64: 8, 4>} {
  // expected-error @+1 {{must be 32-bit float or vector of 32-bit float values of ranks 1, but got 'f64'}}
  %y = decant.lane_reduce add %x over <key> : f64
  decant.return
}

// -----

// Planes.
decant.kernel @one_plane(%low: i32, %high: i32) attributes {lanes = array<i64: 32, 1>} {
  // expected-error @+1 {{has codes of 4 bits; 6 or 3 have two planes}}
  %y = decant.unpack_planes %low, %high part 0 bits 4 : vector<8xf16>
  decant.return
}

// -----

decant.kernel @tile_before(%low: i32, %high: i32) attributes {lanes = array<i64: 32, 1>} {
  // expected-error @+1 {{takes tile -1; tiles count from 0}}
  %y = decant.unpack_planes %low, %high part -1 bits 6 : vector<8xf16>
  decant.return
}

// -----

decant.kernel @scaled_floats(%x: vector<8xf32>, %scale: vector<8xf16>) attributes {lanes = array<i64: 32, 1>} {
  // expected-error @+1 {{scales 'vector<8xf32>' by 'vector<8xf16>'; both must be f16}}
  %low, %high = decant.pack_planes %x scale %scale : vector<8xf16> bits 3 : vector<8xf32>
  decant.return
}

// -----

// A return belongs to a kernel, a yield to a rule.
decant.kernel @yield_in_kernel(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>) {
  // expected-error @+1 {{expects parent op to be one of 'decant.rule, decant.decode'}}
  decant.yield %S, %v : !decant.state<4x8>
}

// -----

// Types.

// expected-error @+1 {{a state has two dims, key x value; found 3}}
decant.kernel @three_dims(%S: !decant.state<4x8x2>) {
  decant.return
}

// -----

// expected-error @+2 {{failed to parse Decant_AxisAttr parameter 'axis'}}
// expected-error @+1 {{expected ::decant::VectorAxis to be one of: key, value}}
decant.kernel @unknown_axis(%x: tensor<4xf32, #decant.axis<query>>) {
  decant.return
}
