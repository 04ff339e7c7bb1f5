// RWKV-7 (Goose, arXiv 2503.14456; FLA rwkv7, fused_mul_recurrent_rwkv7), q = r:
//   S = diag(d) S - (kk o a) (S^T kk)^T + k v^T;  o = S^T q,  d = exp(g)
// kk is the normalised removal key, a the in-context learning rate per channel: a
// DPLR rule with a = -kk and b = kk o a, read before the decay. LeapQuant's
// appendix has the erase the other way round (reads with kk o a, writes along kk);
// this is FLA's orientation, which is RWKV-7's own transposed. No norm on q and k.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @rwkv7(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key,
                   %kk: !key, %a: !key) {
  %p = decant.read %S, %kk : !state
  %minus = arith.negf %p : !value
  %d = math.exp %g : !key
  %S1 = decant.decay %S, %d : !state, !key
  %b = arith.mulf %kk, %a : !key
  %S2 = decant.write %S1, %b, %minus : !state
  %S3 = decant.write %S2, %k, %v : !state
  %o = decant.read %S3, %q : !state
  decant.yield %S3, %o : !state
}
