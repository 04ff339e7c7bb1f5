# Compiles every rule preset to PTX, and assembles it where ptxas is installed.
# usage: sh -e every_rule.sh SPEC TARGET METHOD...
#
# The spec is complete but for its rule and its method. Prints a line per kernel:
# rule, method, kernel and, with ptxas, what spills.
spec=$1
target=$2
shift 2
ptx=$(mktemp)
trap 'rm -f "$ptx" "$ptx.log"' EXIT
rules=$(decant presets rule | awk 'NR > 1 && NF { print $1 }')
test -n "$rules"
for rule in $rules; do
  for method in "$@"; do
    decant compile "$spec" --set rule=$rule --set preset=$method --target $target --emit ptx -o "$ptx"
    grep -q "^\.target $target\$" "$ptx"
    echo "$rule $method: $(grep -o 'entry [a-z_0-9]*' "$ptx" | awk '{ print $2 }' | paste -s -d ' ')"
    command -v ptxas > "$ptx.log" || continue
    ptxas -arch=$target -v "$ptx" -o /dev/null > "$ptx.log" 2>&1 || { cat "$ptx.log"; exit 1; }
    awk -v what="$rule $method" '/Function properties for/ { kernel = $NF } /spill stores/ { sub(/^ */, ""); print what, kernel ": " $0 }' "$ptx.log"
  done
done
