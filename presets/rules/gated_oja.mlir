// Gated Oja rule (FLA gated_oja_rule), the delta rule with the axes exchanged:
//   S = S diag(a);  u = beta (k - S v);  S = S + u v^T;  o = S^T q,  a = exp(g)
// One decay per value channel. The key is corrected by what is stored under the
// value, and S v sums over the value axis. The state stays bounded where
// beta |v|^2 <= 2, so v comes normalised; no input convention does that here.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @gated_oja(%S: !state, %q: !key, %k: !key, %v: !value, %g: !value,
                       %beta: f32) {
  %a = math.exp %g : !value
  %S1 = decant.decay %S, %a : !state, !value
  %p = decant.read_key %S1, %v : !state
  %r = arith.subf %k, %p : !key
  %u = decant.scale %r, %beta : !key
  %S2 = decant.write %S1, %u, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
