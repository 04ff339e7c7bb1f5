// RUN: decant-opt %s --split-input-file --decant-map-to-gpu --verify-diagnostics

// Terms of a commit with a window of 64 tokens and 16 compensators at 256 x 256:
// 16 new and 16 old compensators and 64 records, 96 keys and values of 256
// floats, 196608 bytes. 99 KiB of sm_86 do not hold them.
// expected-error @+1 {{kernel @commit needs 196608 bytes of shared memory; sm_86 allows 101376 per block: a shorter window or fewer compensators need less}}
decant.kernel @commit() attributes {lanes = array<i64: 16, 16>, target = #decant.target<"sm_86">} {
  %keys = decant.scratch : memref<96x256xf32, #gpu.address_space<workgroup>>
  %values = decant.scratch : memref<96x256xf32, #gpu.address_space<workgroup>>
  decant.return
}

// -----

// expected-error @+1 {{has no lanes; decant-tile-kernel comes before decant-map-to-gpu}}
decant.kernel @untiled() attributes {target = #decant.target<"sm_90a">} {
  decant.return
}

// -----

// expected-error @+1 {{target: unknown target 'sm_75'; known are x86-64, sm_80}}
decant.kernel @unknown() attributes {lanes = array<i64: 8, 4>, target = #decant.target<"sm_75">} {
  decant.return
}
