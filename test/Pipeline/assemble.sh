# Compiles a spec to PTX, assembles it and prints one line of ptxas -v per kernel.
# usage: sh -e assemble.sh TARGET SPEC [ARGUMENT]...
target=$1
shift
ptx=$(mktemp)
trap 'rm -f "$ptx" "$ptx.log"' EXIT
decant compile "$@" --target $target --emit ptx -o "$ptx"
ptxas -arch=$target -v "$ptx" -o /dev/null >"$ptx.log" 2>&1 || { cat "$ptx.log"; exit 1; }
awk '/Function properties for/ { kernel = $NF } /spill stores/ { sub(/^ */, ""); print kernel ": " $0 }' "$ptx.log"
