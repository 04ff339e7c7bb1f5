// GDN-2 (FLA gdn2), with a decay per key channel and gates of its own for erasing
// and writing:
//   S = diag(a) S;  u = w o v - S^T (b o k);  S = S + k u^T;  o = S^T q,  a = exp(g)
// b is a key vector (erase gate), w a value vector (write gate), as the layer's
// activations leave them.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @gdn2(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key,
                  %b: !key {gate}, %w: !value {gate}) {
  %a = math.exp %g : !key
  %S1 = decant.decay %S, %a : !state, !key
  %e = arith.mulf %b, %k : !key
  %p = decant.read %S1, %e : !state
  %wv = arith.mulf %w, %v : !value
  %u = arith.subf %wv, %p : !value
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
