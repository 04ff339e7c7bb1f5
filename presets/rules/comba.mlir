// Comba (arXiv 2506.02475; FLA comba), the gated delta rule with a read key of its
// own, before the decay:
//   u = beta (v - S^T p);  S = a S + k u^T;  o = S^T q,  a = exp(g)
// p comes from the layer as it is, without the norm of q and k. FLA's kernels read
// before the decay and its naive reference after it; this is the kernels' form.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @comba(%S: !state, %q: !key, %k: !key, %v: !value, %p: !key,
                   %g: f32, %beta: f32) {
  %old = decant.read %S, %p : !state
  %r = arith.subf %v, %old : !value
  %u = decant.scale %r, %beta : !value
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
