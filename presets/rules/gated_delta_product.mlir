// Gated DeltaProduct with two sub-steps per token (arXiv 2502.10297; FLA
// gated_delta_product, n_h = 2):
//   S = a S;  for j = 0, 1: u_j = beta_j (v_j - S^T k_j);  S = S + k_j u_j^T
//   o = S^T q,  a = exp(g)
// The first sub-step's inputs are k, v and beta, the second's k1, v1 and beta1, all
// under the same conventions: of a tensor [n_h tokens, ...] they are every second
// row. The decay comes once and the read at the end; a token leaves two records.
// More sub-steps are more of the same lines (gated_delta_product3), or, with a
// decode step each, gated_delta with g = 0 and the output ignored.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @gated_delta_product(%S: !state, %q: !key, %k: !key, %v: !value,
                                 %k1: !key, %v1: !value, %g: f32, %beta: f32,
                                 %beta1: f32) {
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
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
