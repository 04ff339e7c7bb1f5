// Gated delta rule (Gated DeltaNet, arXiv 2412.06464; Qwen3-Next, Qwen3.5):
//   S = a S;  u = beta (v - S^T k);  S = S + k u^T;  o = S^T q,  a = exp(g)
// One scalar decay per value head and token; the read comes after the decay.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @gated_delta(%S: !state, %q: !key, %k: !key, %v: !value, %g: f32, %beta: f32) {
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %p = decant.read %S1, %k : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
