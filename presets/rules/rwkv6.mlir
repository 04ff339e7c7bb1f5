// RWKV-6 (Finch, arXiv 2404.05892; FLA rwkv6), q = r:
//   o = (S + (u o k) v^T)^T q;  S = diag(a) S + k v^T,  a = exp(g)
// The token is read with a bonus u, one key vector per head of the layer, before
// it is written, and the decay comes after the read: q . (u o k) v is all that the
// bonus adds. No norm on q and k.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @rwkv6(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key,
                   %u: !key {layer}) {
  %p = decant.read %S, %q : !state
  %uk = arith.mulf %u, %k : !key
  %w = decant.dot %q, %uk : !key
  %bonus = decant.scale %v, %w : !value
  %o = arith.addf %p, %bonus : !value
  %a = math.exp %g : !key
  %S1 = decant.decay %S, %a : !state, !key
  %S2 = decant.write %S1, %k, %v : !state
  decant.yield %S2, %o : !state
}
