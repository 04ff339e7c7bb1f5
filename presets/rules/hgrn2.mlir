// HGRN2 (arXiv 2404.07904; FLA hgrn2), which is gated linear attention with tied
// gates:
//   S = diag(a) S + k v^T;  o = S^T q,  a = exp(g)
// The layer computes its forget gate f and passes g = log f and k = 1 - f, so
// inputs.qk_norm = none.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @hgrn2(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key) {
  %a = math.exp %g : !key
  %S1 = decant.decay %S, %a : !state, !key
  %S2 = decant.write %S1, %k, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
