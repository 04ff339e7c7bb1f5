# Compiles every preset of a kind to PTX.
# usage: sh -e every_preset.sh model|method decode|transfer TARGET...
#
# A method is compiled on a model. PTX without the directives of its target, or
# without a kernel of the set, is an error.
kind=$1
kernels=$2
shift 2
entries="step"
test $kernels = transfer && entries="pack_f32 pack_bf16 unpack_f32 unpack_bf16"
file=$(mktemp)
trap 'rm -f "$file"' EXIT
presets=$(decant presets $kind | awk 'NR > 1 && NF { print $1 }')
test -n "$presets"
for preset in $presets; do
  spec=$preset
  if test $kind = method; then
    spec="bytelm-gdn --set preset=$preset"
    layer='"decant_plan":1,"heads":4,"key_dim":128'
    case $(decant presets method $preset) in
      *table4*) spec="$spec --set state.plan={$layer,\"levels\":[-0.9,-0.8,-0.7,-0.6,-0.5,-0.4,-0.3,-0.2,-0.1,0,0.1,0.2,0.3,0.4,0.5,0.6]}" ;;
      *table3*) spec="$spec --set state.plan={$layer,\"levels\":[-0.9,-0.6,-0.3,0,0.1,0.3,0.5,0.8]}" ;;
      *'"static"'*) spec="$spec --set state.plan={$layer,\"scales\":[0.01,0.02,0.03,0.04]}" ;;
    esac
    if decant presets method $preset | grep -q '"lifetime"'; then
      # In the place of a plan, and for targets with 100 KB of shared memory.
      spec="$spec --set state.bits.by=even --set window.length=32"
    fi
  fi
  for target in "$@"; do
    echo "$spec $target $kernels"
    decant compile $spec --target $target --kernels $kernels --emit ptx -o "$file"
    grep -q "^\.target $target\$" "$file"
    grep -q "^\.version [78]\.[0-9]\$" "$file"
    for entry in $entries; do
      grep -q "\.visible \.entry $entry(" "$file"
    done
  done
done
