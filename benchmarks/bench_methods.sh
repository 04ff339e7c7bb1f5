#!/bin/sh
# Times a step of every method preset and writes one JSON: {"PRESET": {what `decant bench` printed} or
# {"error": its message}, ...}. Needs the decant program and nothing else, so that a machine that has
# a GPU and no toolchain can run it; method_table.py puts the times beside the errors.
#
#   bench_methods.sh DECANT OUTPUT [BATCH [DEVICE]]
#
# A layer of 32 heads of 128 x 128, as in compare_peers.py. Key rows of their own bits are dealt out
# evenly, since plans belong to a model's layers; what a step costs depends on how many bits there
# are, and not on where. A preset whose result is there already is not run again.
set -eu
if [ $# -lt 2 ]; then
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
decant=$1 output=$2 batch=${3:-256} device=${4:-cuda:0}
parts=$output.parts
mkdir -p "$parts"

methods=$("$decant" presets | sed -n '/^methods:/,/^$/s/^  \([^ ]*\) .*/\1/p')
for method in $methods; do
    if [ -s "$parts/$method.json" ]; then
        continue
    fi
    echo "$method" >&2
    plan=
    layer='"decant_plan":1,"heads":32,"key_dim":128'
    case $("$decant" presets method "$method") in
        *table4*) plan="--set state.plan={$layer,\"levels\":[-0.9,-0.7,-0.5,-0.4,-0.3,-0.2,-0.1,0,0.1,0.2,0.3,0.4,0.5,0.6,0.8,0.9]}" ;;
        *table3*) plan="--set state.plan={$layer,\"levels\":[-0.9,-0.5,-0.2,0,0.2,0.4,0.6,0.9]}" ;;
        *'"static"'*)
            scales=$(yes 0.01 | head -n 32 | paste -sd, -)
            plan="--set state.plan={$layer,\"scales\":[$scales]}" ;;
    esac
    if "$decant" presets method "$method" | grep -q '"lifetime"'; then
        plan="--set state.bits.by=even"
    fi
    # shellcheck disable=SC2086
    if "$decant" bench bytelm-gdn --set preset="$method" --set heads.key=32 --set heads.value=32 \
        $plan --batch "$batch" --device "$device" --json \
        > "$parts/$method.unfinished" 2> "$parts/$method.error"; then
        mv "$parts/$method.unfinished" "$parts/$method.json"
    else
        message=$(head -c 400 "$parts/$method.error" | tr -d '\000-\037"\\')
        printf '{"error": "%s"}\n' "$message" > "$parts/$method.json"
        echo "$message" >&2
    fi
done

{
    separator='{'
    for method in $methods; do
        printf '%s\n"%s": ' "$separator" "$method"
        cat "$parts/$method.json"
        separator=,
    done
    echo '}'
} > "$output"
