// Delta rule with one beta per value channel (FLA delta_rule, "headwise vector"
// beta):
//   u = beta o (v - S^T k);  S = S + k u^T;  o = S^T q
// beta is in u and not in the write key, so that it may be a vector.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @delta_value_beta(%S: !state, %q: !key, %k: !key, %v: !value,
                              %beta: !value) {
  %p = decant.read %S, %k : !state
  %r = arith.subf %v, %p : !value
  %u = arith.mulf %r, %beta : !value
  %S1 = decant.write %S, %k, %u : !state
  %o = decant.read %S1, %q : !state
  decant.yield %S1, %o : !state
}
