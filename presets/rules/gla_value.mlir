// Gated linear attention with decays on both axes (arXiv 2312.06635, the general
// form; FLA gla with gk and gv):
//   S = diag(a) S diag(b) + k v^T;  o = S^T q,  a = exp(g),  b = exp(gv)
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @gla_value(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key,
                       %gv: !value {gate}) {
  %a = math.exp %g : !key
  %b = math.exp %gv : !value
  %S1 = decant.decay %S, %a : !state, !key
  %S2 = decant.decay %S1, %b : !state, !value
  %S3 = decant.write %S2, %k, %v : !state
  %o = decant.read %S3, %q : !state
  decant.yield %S3, %o : !state
}
