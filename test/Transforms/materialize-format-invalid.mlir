// RUN: decant-opt %s --split-input-file --decant-materialize-format --verify-diagnostics

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// The bytes follow from the questions; without them there is no answer.
// expected-error @+1 {{needs #decant.heads, #decant.inputs, #decant.format and #decant.target; decant-expand-window puts them there}}
decant.kernel @step(%window: !window, %v: tensor<16xf32, #decant.axis<value>>) {
  decant.return %v : tensor<16xf32, #decant.axis<value>>
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = none>

// A kernel's name says which arguments it has, so an unknown one has no ABI.
// expected-error @+1 {{kernel @peek: decant-materialize-format knows step, commit, accept, pack and unpack}}
decant.kernel @peek(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<f32>, target = #decant.target<"x86-64">} {
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = vector, valueDecay = none>

// H D is not D H where the elements of D differ.
// expected-error @+1 {{state.rotate: 'both' rotates the key axis, along which this rule's decays are vectors: a rotated state would have to be rotated back at every token; an axis with one decay or none can be rotated}}
decant.kernel @unpack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<i8 rotate both, <key, absmax, f32>>, target = #decant.target<"x86-64">} {
  decant.return
}

// -----

!window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
    records = f16, writes = 1, keyDecay = none, valueDecay = vector>

// expected-error @+1 {{state.rotate: 'value' rotates the value axis, along which this rule's decays are vectors}}
decant.kernel @unpack(%window: !window) attributes {
    heads = #decant.heads<key = 1, value = 1, map = group>,
    inputs = #decant.inputs<type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>,
    format = #decant.format<i8 rotate value, <key, absmax, f32>>, target = #decant.target<"x86-64">} {
  decant.return
}
