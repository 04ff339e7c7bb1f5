// Linear attention without normalizer (arXiv 2006.16236; FLA linear_attn):
//   S = S + k v^T;  o = S^T q
// q and k come through the layer's feature map; nothing is ever forgotten.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @linear_attention(%S: !state, %q: !key, %k: !key, %v: !value) {
  %S1 = decant.write %S, %k, %v : !state
  %o = decant.read %S1, %q : !state
  decant.yield %S1, %o : !state
}
