// Linear attention with its normalizer (arXiv 2006.16236; FLA linear_attn with
// normalize):
//   z = z + k;  S = S + k v^T;  o = S^T q / (q . z + 1e-10)
// z, the sum of all keys, is carried beside the state in f32; 1e-10 is FLA's.
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>

decant.rule @linear_attention_normalized(%S: !state, %z: !key {carried},
                                         %q: !key, %k: !key, %v: !value) {
  %z1 = arith.addf %z, %k : !key
  %S1 = decant.write %S, %k, %v : !state
  %r = decant.read %S1, %q : !state
  %n = decant.dot %q, %z1 : !key
  %eps = arith.constant 1.0e-10 : f32
  %d = arith.addf %n, %eps : f32
  %one = arith.constant 1.0 : f32
  %f = arith.divf %one, %d : f32
  %o = decant.scale %r, %f : !value
  decant.yield %S1, %o, %z1 : !state
}
