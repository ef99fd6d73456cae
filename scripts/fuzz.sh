#!/usr/bin/env bash
#
# Builds the fuzzers of unittests/Fuzz with libFuzzer and sanitizers, and runs
# each for a number of seconds.
#
#   scripts/fuzz.sh SECONDS [shape|hlo|dump|kernel|log|ir|relayout|runtime|capi...]
#
# What reaches new code is kept in build/fuzz/corpus, for the next run to start
# from. A text that ends the process, takes 20 seconds or 4 GB is kept in
# build/fuzz/crashes and named; the exit code is then 1. To run it again:
#
#   build/fuzz/unittests/tessera-fuzz-NAME FILE

source "$(dirname "$0")/common.sh"

usage() { sed -n '3,13s/^# \{0,1\}//p' scripts/fuzz.sh; }

[ $# -gt 0 ] || { usage && exit 1; }
case "$1" in -h | --help) usage && exit ;; esac
[[ "$1" =~ ^[0-9]+$ ]] || fail "SECONDS must be a number, not $1"
seconds=$1
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(shape hlo dump kernel log ir relayout runtime capi)

# Bytes of the longest text; modules of HLO are long.
max_length() {
  case "$1" in shape | relayout | runtime) echo 512 ;; hlo | dump) echo 16384 ;; *) echo 4096 ;; esac
}

# run TARGET: fuzzes one; fails where something was found.
run() {
  local corpus=build/fuzz/corpus/$1 log=build/fuzz/crashes/$1.log
  mkdir -p "$corpus"
  build/fuzz/unittests/tessera-fuzz-"$1" -max_total_time="$seconds" \
    -max_len="$(max_length "$1")" -timeout=20 -rss_limit_mb=4096 \
    -detect_leaks=0 -print_final_stats=1 \
    -dict=unittests/Fuzz/Dictionaries/"$1".dict \
    -artifact_prefix=build/fuzz/crashes/"$1"- \
    "$corpus" build/fuzz/seeds/"$1" unittests/Fuzz/Inputs/"$1" \
    >"$log" 2>&1 && grep -E 'cov:|number_of_executed' "$log" | tail -n 2 && return
  tail -n 40 "$log"
  echo "scripts/fuzz.sh: $1 found something, see $log"
  return 1
}

prepare
note "building the fuzzers"
configure fuzz
cmake --build build/fuzz --target tessera-fuzzers
mkdir -p build/fuzz/crashes
build/venv/bin/python3 unittests/Fuzz/make_seeds.py . build/fuzz/seeds
found=0
for target in "${targets[@]}"; do
  note "fuzzing $target for $seconds seconds"
  run "$target" || found=1
done
exit $found
