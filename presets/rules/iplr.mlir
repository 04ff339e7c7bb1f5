// Identity plus low rank (FLA iplr):
//   S = S + b (S^T a)^T + k v^T;  o = S^T q
// Two rank-1 terms per token, no decay: what is read along a is added along b.
// a and b come from the layer as they are.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @iplr(%S: !state, %q: !key, %k: !key, %v: !value, %a: !key,
                  %b: !key) {
  %p = decant.read %S, %a : !state
  %S1 = decant.write %S, %b, %p : !state
  %S2 = decant.write %S1, %k, %v : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state
}
