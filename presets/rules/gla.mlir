// Gated linear attention (arXiv 2312.06635; FLA gla; also lightnet and rodimus):
//   S = diag(a) S + k v^T;  o = S^T q,  a = exp(g)
// One decay per key channel.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @gla(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key) {
  %a = math.exp %g : !key
  %S1 = decant.decay %S, %a : !state, !key
  %S2 = decant.write %S1, %k, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
