# Sourced by quickstart and check: one way to configure and build, one way to
# show and time a step.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
logs=$build/logs
mkdir -p "$logs"

# Decant's own cache goes below build/; ccache's too, where HOME cannot be written.
export XDG_CACHE_HOME=$build/cache
[ -w "${HOME:-/}" ] || export CCACHE_DIR=${CCACHE_DIR:-$build/cache/ccache}
# ccache knows a precompiled header by what it was made from, not by its dates.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

now() { local t=${EPOCHREALTIME/,/.}; printf '%s' "$t"; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN {printf "%.1f", b - a}'; }

failed_steps=()

# step NAME COMMAND...: runs the command with its output in build/logs/NAME.log
# and prints one line with the time it took (one more each half minute while it
# runs); when it fails, also the log's end.
step() {
  local name=$1 log=$logs/$1.log start heart status=0
  shift
  start=$(now)
  : >"$log"
  # The command stays in the foreground, so that Ctrl-C reaches it.
  heartbeat "$name" "$start" "$log" $$ &
  heart=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$heart" 2>/dev/null
  wait "$heart" 2>/dev/null
  if [ "$status" -eq 0 ]; then
    printf '%7s s  %-12s ok\n' "$(since "$start")" "$name"
    return 0
  fi
  failed_steps+=("$name")
  printf '%7s s  %-12s FAILED (exit %s), the end of %s:\n' "$(since "$start")" "$name" "$status" "${log#"$root"/}"
  tail -n 40 "$log" | sed 's/^/    | /'
  return 1
}

heartbeat() { # NAME START LOG PARENT
  local seconds=0
  while sleep 1 >/dev/null 2>&1 && kill -0 "$4" 2>/dev/null; do
    seconds=$((seconds + 1))
    [ $((seconds % 30)) -ne 0 ] ||
      printf '%7s s  %-12s ... %s\n' "$(since "$2")" "$1" "$(tail -n 1 "$3" | cut -c 1-70)"
  done
}

# configure FOLDER OPTION...: once per build folder; ninja calls CMake again when
# a CMakeLists.txt changes.
configure() {
  local folder=$1
  shift
  # A clone that was moved or copied carries paths that are no longer true.
  if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    rm -rf "$folder/CMakeCache.txt" "$folder/CMakeFiles"
  fi
  [ -f "$folder/build.ninja" ] && [ -f "$folder/CMakeCache.txt" ] && return 0
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake -S "$root" -B "$folder" "${launcher[@]}" "$@"
}

# build_sanitized FOLDER: what needs no LLVM, under ASan and UBSan.
build_sanitized() {
  configure "$1" --preset runtime-sanitized && ninja -C "$1" -j "$(nproc)"
}
