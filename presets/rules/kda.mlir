// Kimi Delta Attention (arXiv 2510.26692): the gated delta rule with one decay
// per key channel:
//   S = diag(a) S;  u = beta (v - S^T k);  S = S + k u^T;  o = S^T q,  a = exp(g)
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @kda(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key, %beta: f32) {
  %a = math.exp %g : !key
  %S1 = decant.decay %S, %a : !state, !key
  %p = decant.read %S1, %k : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
