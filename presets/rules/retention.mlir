// Retention (RetNet, arXiv 2307.08621; FLA retention):
//   S = a_h S + k v^T;  o = S^T q,  a_h = exp(g_h)
// The decay is a constant of the head, so %g is one number per head of the layer
// and not per token: g_h = log(1 - 2^(-5 - h)) for inputs.decay = log, or the
// decay itself for linear.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @retention(%S: !state, %q: !key, %k: !key, %v: !value,
                       %g: f32 {layer}) {
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %S2 = decant.write %S1, %k, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
