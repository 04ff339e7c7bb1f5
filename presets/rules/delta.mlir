// Delta rule (DeltaNet, arXiv 2406.06484; FLA delta_rule):
//   u = beta (v - S^T k);  S = S + k u^T;  o = S^T q
// No decay. inputs.beta_scale = 2 lets eigenvalues of I - beta k k^T be negative
// (arXiv 2411.12537; FLA allow_neg_eigval).
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @delta(%S: !state, %q: !key, %k: !key, %v: !value, %beta: f32) {
  %p = decant.read %S, %k : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S1 = decant.write %S, %k, %u : !state
  %o = decant.read %S1, %q : !state
  decant.yield %S1, %o : !state
}
