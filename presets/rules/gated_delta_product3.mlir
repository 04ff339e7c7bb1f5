// Gated DeltaProduct with three sub-steps per token (arXiv 2502.10297; FLA
// gated_delta_product, n_h = 3):
//   S = a S;  for j = 0, 1, 2: u_j = beta_j (v_j - S^T k_j);  S = S + k_j u_j^T
//   o = S^T q,  a = exp(g)
// As gated_delta_product; a token leaves three records.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @gated_delta_product3(%S: !state, %q: !key, %k: !key, %v: !value,
                                  %k1: !key, %v1: !value, %k2: !key,
                                  %v2: !value, %g: f32, %beta: f32, %beta1: f32,
                                  %beta2: f32) {
  %a = math.exp %g : f32
  %S0 = decant.decay %S, %a : !state, f32
  %p0 = decant.read %S0, %k : !state
  %r0 = arith.subf %v, %p0 : !value
  %u0 = decant.scale %r0, %beta : !value
  %S1 = decant.write %S0, %k, %u0 : !state
  %p1 = decant.read %S1, %k1 : !state
  %r1 = arith.subf %v1, %p1 : !value
  %u1 = decant.scale %r1, %beta1 : !value
  %S2 = decant.write %S1, %k1, %u1 : !state
  %p2 = decant.read %S2, %k2 : !state
  %r2 = arith.subf %v2, %p2 : !value
  %u2 = decant.scale %r2, %beta2 : !value
  %S3 = decant.write %S2, %k2, %u2 : !state
  %o = decant.read %S3, %q : !state
  decant.yield %S3, %o : !state
}
