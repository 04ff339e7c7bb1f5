// The delta rule without decay:
//   u = beta (v - S^T k);  S = S + k u^T;  o = S^T q
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
