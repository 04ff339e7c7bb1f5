#!/bin/bash
# Two GPUs: in one process, and as ranks of a host.
#
#   two_gpus.sh DECANT [PACK]      DECANT: the tool, bin/decant-static say
#
# DEVICES  the two devices, "cuda:0,cuda:1" by default ("cpu,cpu" tries the
#          script itself)
# SPEC     a preset that PACK has, too; bytelm-gdn by default
# RANKS    processes that start together, 4 by default
# BUDGET   seconds for a search, 12 by default
# SET      overrides of the spec, for instance "heads.key=1 heads.value=2"
# OUT      a folder for what the runs print, a temporary one by default
#
# Shows, and ends with 1 where it is not so:
#   one    one engine tunes for the first device, and the second one, of the
#          same class, runs what was found: same schedules, same outputs to the
#          bit, no tuning and no compile of its own
#   ranks  processes with an empty cache and no records, each on the device of
#          its rank: one tunes and compiles, all run the same variant
#   again  the same once more: nobody tunes, compiles or links
#   pack   no cache and no records, but a pack: nobody tunes or compiles
set -u
decant=$(readlink -f "${1:?usage: two_gpus.sh DECANT [PACK]}")
pack=${2:+$(readlink -f "$2")}
devices=${DEVICES:-cuda:0,cuda:1}
spec=${SPEC:-bytelm-gdn}
ranks=${RANKS:-4}
budget=${BUDGET:-12}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${OUT:-$work/out}
mkdir -p "$out"
set_words=()
for word in ${SET:-}; do set_words+=(--set "$word"); done
first=${devices%,*} second=${devices#*,}
failed=0

# The environment of a machine that has run nothing yet.
cold() {
  rm -rf "$work/cache" "$work/records"
  export DECANT_CACHE_DIR=$work/cache DECANT_TUNING_DIR=$work/records
  export DECANT_SITE_TUNING_DIR=$work/no-site CUDA_CACHE_PATH=$work/cache
  unset DECANT_CACHE_PATH DECANT_PACKS DECANT_TUNE DECANT_VARIANTS
}

# prepare FILE DEVICES WORDS...
prepare() {
  local file=$1 on=$2
  shift 2
  "$decant" prepare "$spec" "${set_words[@]}" --device "$on" --json "$@" \
    >"$out/$file" 2>"$work/$file.err" || {
    echo "$file: $(cat "$work/$file.err")"
    failed=1
  }
}

# start NAME WORDS...: all ranks at once
start() {
  local name=$1 rank
  shift
  for ((rank = 0; rank < ranks; ++rank)); do
    local device=$first
    ((rank % 2)) && device=$second
    prepare "$name-$rank.json" "$device" "$@" &
  done
  wait
}

# check NAME FILES...: the counters, and whether everyone runs the same
check() {
  python3 - "$@" <<'PYTHON' || failed=1
import json, sys

name, files = sys.argv[1], sys.argv[2:]
runs = [json.load(open(file)) for file in files]
places = [place for run in runs for spec in run["specs"] for place in spec["devices"]]
counters = [run["counters"] for run in runs]
total = {key: sum(one[key] for one in counters) for key in counters[0]}
tuners = sum(one["tunings"] > 0 for one in counters)
compilers = sum(one["compiles"] > 0 for one in counters)
print(f"{name}: {len(runs)} process(es) on {', '.join(p['device'] for p in places)}")
for place in places:
    print("   {device} ({device_name}): schedules {from_}, tuned here {tuned}, batches {rules}, "
          "images {images}, outputs {outputs}".format(from_=place["schedules_from"] or "usual", **place))
print("   counters of all: " + ", ".join(f"{key} {value}" for key, value in total.items()))
wrong = []
for key in ("rules", "schedules", "outputs", "target"):
    if len({json.dumps(place[key]) for place in places}) != 1:
        wrong.append(f"{key} differ")
want = {"one": (1, 1), "ranks": (1, 1), "again": (0, 0), "pack": (0, 0)}[name]
if (tuners, compilers) != want:
    wrong.append(f"{tuners} tuned and {compilers} compiled; {want[0]} and {want[1]} are expected")
if total["tunings"] != want[0]:
    wrong.append(f"{total['tunings']} searches; {want[0]} expected")
if name == "one" and [place["tuned"] for place in places] != [True, False]:
    wrong.append("the second device was tuned, or the first was not")
if name == "one" and places[1]["images"]["compiled"] + places[1]["images"]["linked"]:
    wrong.append("the second device compiled or linked")
if name == "again" and total["links"]:
    wrong.append(f"{total['links']} links on a warm cache")
if name == "pack" and not all(one["packed"] for one in counters):
    wrong.append("a process read nothing from the pack")
print("   " + ("; ".join(wrong) or "as it has to be"))
sys.exit(bool(wrong))
PYTHON
}

begin=$SECONDS
cold
prepare one.json "$devices" --tune --budget "$budget"
check one "$out/one.json"
cold
start ranks --tune --budget "$budget"
check ranks "$out"/ranks-*.json
start again --tune --budget "$budget"
check again "$out"/again-*.json
if [ -n "$pack" ]; then
  cold
  start pack --pack "$pack"
  check pack "$out"/pack-*.json
fi
echo "$((SECONDS - begin)) s, $([ $failed = 0 ] && echo 'all as it has to be' || echo FAILED)"
exit $failed
