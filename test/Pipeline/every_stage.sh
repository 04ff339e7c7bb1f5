# usage: sh -e every_stage.sh SPEC FILE
spec=$1
file=$2
for target in sm_90a x86-64; do
  for kernels in decode transfer; do
    for stage in rule windowed formatted scheduled tiled mapped llvm; do
      echo "$spec $target $kernels $stage"
      decant compile "$spec" --target $target --kernels $kernels --emit $stage -o "$file"
      decant-opt "$file" --decant-verify-stage=stage=$stage -o "$file.out"
      # Once more: what was printed is what was parsed.
      decant-opt "$file.out" | cmp - "$file.out"
    done
  done
done
