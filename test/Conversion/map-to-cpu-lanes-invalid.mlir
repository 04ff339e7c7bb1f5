// RUN: decant-opt %s --split-input-file --decant-map-to-cpu --verify-diagnostics

// Lanes run in lock step: they must come to a collective op together.
decant.kernel @branch() attributes {lanes = array<i64: 8, 4>, target = #decant.target<"x86-64">} {
  %k = decant.lane <key>
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %k, %zero : index
  // expected-error @+1 {{the condition of a branch around a collective op depends on the lane}}
  scf.if %first {
    decant.barrier
  }
  decant.return
}

// -----

// Bounds may depend on the lane when their difference does not.
decant.kernel @rounds(%x: f32) attributes {lanes = array<i64: 8, 4>, target = #decant.target<"x86-64">} {
  %k = decant.lane <key>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @+1 {{the number of rounds of a loop around a collective op depends on the lane}}
  scf.for %i = %zero to %k step %one {
    decant.barrier
  }
  decant.return
}

// -----

decant.kernel @step(%x: f32) attributes {lanes = array<i64: 8, 4>, target = #decant.target<"x86-64">} {
  %k = decant.lane <key>
  %zero = arith.constant 0 : index
  %nine = arith.constant 9 : index
  %one = arith.constant 1 : index
  %step = arith.addi %k, %one : index
  // expected-error @+1 {{the step of a loop around a collective op depends on the lane}}
  scf.for %i = %zero to %nine step %step {
    decant.barrier
  }
  decant.return
}

// -----

decant.kernel @while(%go: i1) attributes {lanes = array<i64: 8, 4>, target = #decant.target<"x86-64">} {
  // expected-error @+1 {{is around a collective op; only scf.for and scf.if may be}}
  scf.while : () -> () {
    scf.condition(%go)
  } do {
    decant.barrier
    scf.yield
  }
  decant.return
}

// -----

decant.kernel @part_of_a_warp(%x: vector<2xf16>) attributes {lanes = array<i64: 8, 2>, target = #decant.target<"x86-64">} {
  // expected-error @+1 {{needs whole warps of 32 lanes; the block has 16 lanes}}
  %y = decant.transpose %x : vector<2xf16>
  decant.return
}

// -----

decant.kernel @view(%x: memref<64xi8>, %y: memref<64xi8>) attributes {lanes = array<i64: 8, 1>, target = #decant.target<"x86-64">} {
  %k = decant.lane <key>
  %zero = arith.constant 0 : index
  %first = arith.cmpi eq, %k, %zero : index
  // expected-error @+1 {{a view that depends on the lane must be made by an op without regions and effects}}
  %m = scf.if %first -> memref<64xi8> {
    scf.yield %x : memref<64xi8>
  } else {
    scf.yield %y : memref<64xi8>
  }
  decant.barrier
  %b = memref.load %m[%k] : memref<64xi8>
  memref.store %b, %x[%k] : memref<64xi8>
  decant.return
}
