// Mamba2 (state-space duality, arXiv 2405.21060; mamba_ssm
// selective_state_update), one head of head_dim values by d_state keys:
//   dt = softplus(dt_raw + dt_bias);  a = exp(-exp(A_log) dt)
//   S = a S + k (dt v)^T;  o = S^T q + D v
// with k = B and q = C of the head's group (heads.key is the number of groups),
// v = x; so inputs.qk_norm = none and inputs.scale = one. A_log, dt_bias and D are
// one number per head; dt is a gate, in the type of the gates. A layer that clamps
// its dt does so before, or is a rule of its own.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @mamba2(%S: !state, %q: !key, %k: !key, %v: !value, %dt: f32 {gate},
                    %A_log: f32 {layer}, %dt_bias: f32 {layer},
                    %D: f32 {layer}) {
  // softplus(x) is x to f32 precision above 20; exp then gets at most 20.
  %x = arith.addf %dt, %dt_bias : f32
  %limit = arith.constant 20.0 : f32
  %bounded = arith.minimumf %x, %limit : f32
  %e = math.exp %bounded : f32
  %soft = math.log1p %e : f32
  %above = arith.cmpf ogt, %x, %limit : f32
  %step = arith.select %above, %x, %soft : f32
  %rate = math.exp %A_log : f32
  %ra = arith.mulf %rate, %step : f32
  %g = arith.negf %ra : f32
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %u = decant.scale %v, %step : !value
  %S2 = decant.write %S1, %k, %u : !state
  %r = decant.read %S2, %q : !state
  %skip = decant.scale %v, %D : !value
  %o = arith.addf %r, %skip : !value
  decant.yield %S2, %o : !state
}
