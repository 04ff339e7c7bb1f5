// RUN: decant-opt %s --split-input-file --decant-map-to-cpu --verify-diagnostics

// expected-error @+1 {{has no lanes; decant-tile-kernel comes before decant-map-to-cpu}}
decant.kernel @untiled() attributes {target = #decant.target<"x86-64">} {
  decant.return
}

// -----

// expected-error @+1 {{has lanes = [0, 4]; at least 1 along each axis is needed}}
decant.kernel @no_lane() attributes {lanes = array<i64: 0, 4>, target = #decant.target<"x86-64">} {
  decant.return
}
