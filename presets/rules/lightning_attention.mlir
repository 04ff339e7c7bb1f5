// Lightning attention (arXiv 2401.04658; FLA lightning_attn):
//   S = a_h S + k v^T;  o = S^T q,  a_h = exp(g_h)
// The decay is a constant of the layer and the head, a slope that the host passes
// once: g_h = -slope for inputs.decay = log.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @lightning_attention(%S: !state, %q: !key, %k: !key, %v: !value,
                                 %g: f32 {layer}) {
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %S2 = decant.write %S1, %k, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
