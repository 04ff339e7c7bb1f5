// Preconditioned Kimi Delta Attention (FLA precond_kda):
//   A = exp(g_atk) A + beta_atk k o k;  M = f(A)
//   S = diag(a) S;  u = beta (v - S^T k);  S = S + (k o M) u^T;  o = S^T q
//   f(A) = 1.5^(-r / (1 + |r|)),  r = log(A + 1e-6) - log_atk_scale,  a = exp(g)
// As precond_gated_delta, with one decay per key channel.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @precond_kda(%S: !state, %A: !key {carried}, %q: !key, %k: !key,
                         %v: !value, %g: !key, %beta: f32, %g_atk: f32 {gate},
                         %beta_atk: f32 {gate}) {
  %ga = math.exp %g_atk : f32
  %old = decant.scale %A, %ga : !key
  %kk = arith.mulf %k, %k : !key
  %new = decant.scale %kk, %beta_atk : !key
  %A1 = arith.addf %old, %new : !key
  // M = exp(-log(1.5) r / (1 + |r|)),  r = log(A + 1e-6) + 0.2
  %eps = arith.constant 1.0e-6 : f32
  %eps_k = decant.broadcast %eps : !key
  %sum = arith.addf %A1, %eps_k : !key
  %log = math.log %sum : !key
  %shift = arith.constant 0.2 : f32
  %shift_k = decant.broadcast %shift : !key
  %r = arith.addf %log, %shift_k : !key
  %abs = math.absf %r : !key
  %one = arith.constant 1.0 : f32
  %one_k = decant.broadcast %one : !key
  %size = arith.addf %abs, %one_k : !key
  %s = arith.divf %r, %size : !key
  %rate = arith.constant -0.405465108 : f32
  %exponent = decant.scale %s, %rate : !key
  %M = math.exp %exponent : !key
  %a = math.exp %g : !key
  %S1 = decant.decay %S, %a : !state, !key
  %p = decant.read %S1, %k : !state
  %d = arith.subf %v, %p : !value
  %u = decant.scale %d, %beta : !value
  %w = arith.mulf %k, %M : !key
  %S2 = decant.write %S1, %w, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o, %A1 : !state
}
