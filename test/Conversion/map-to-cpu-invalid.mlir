// RUN: decant-opt %s --split-input-file --decant-map-to-cpu --verify-diagnostics

// A host block is one lane; more would need threads that wait for one another.
// expected-error @+1 {{must have lanes = [1, 1] for the host}}
decant.kernel @many_lanes() attributes {lanes = array<i64: 8, 4>, target = #decant.target<"x86-64">} {
  decant.return
}

// -----

// expected-error @+1 {{must have lanes = [1, 1] for the host}}
decant.kernel @untiled() attributes {target = #decant.target<"x86-64">} {
  decant.return
}
