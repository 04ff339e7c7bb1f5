// Simple gated linear attention (FLA simple_gla; the scalar form of arXiv
// 2312.06635, and of Mamba2 without its dt and skip):
//   S = a S + k v^T;  o = S^T q,  a = exp(g)
// One scalar decay per value head and token.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @simple_gla(%S: !state, %q: !key, %k: !key, %v: !value, %g: f32) {
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %S2 = decant.write %S1, %k, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
