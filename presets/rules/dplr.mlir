// Diagonal plus low rank (FLA dplr):
//   S = diag(d) S + b (S^T a)^T + k v^T;  o = S^T q,  d = exp(g)
// Two rank-1 terms per token; a reads the state before the decay.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @dplr(%S: !state, %q: !key, %k: !key, %v: !value, %g: !key,
                  %a: !key, %b: !key) {
  %p = decant.read %S, %a : !state
  %d = math.exp %g : !key
  %S1 = decant.decay %S, %d : !state, !key
  %S2 = decant.write %S1, %b, %p : !state
  %S3 = decant.write %S2, %k, %v : !state
  %o = decant.read %S3, %q : !state
  decant.yield %S3, %o : !state
}
