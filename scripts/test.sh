#!/usr/bin/env bash
#
# Installs what is missing (Debian 12, as root or with sudo), builds, and runs
# all tests. The last line is `N passed, N failed, N skipped`.
#
#   scripts/test.sh [--full] [--preset=release|debug|asan|gcc] [LIT OPTIONS]
#
#   --full     every randomized test in full, with fresh seeds (an hour or so)
#   --preset   the build to test; release by default

source "$(dirname "$0")/common.sh"

usage() { sed -n '3,9s/^# \{0,1\}//p' scripts/test.sh; }

preset=release
full=0
lit_options=()
for argument in "$@"; do
  case "$argument" in
  --full) full=1 ;;
  --preset=*) preset="${argument#--preset=}" ;;
  -h | --help) usage && exit ;;
  *) lit_options+=("$argument") ;;
  esac
done

prepare

note "building the $preset preset"
if ! configure "$preset" || ! cmake --build "build/$preset"; then
  note "the build failed, no test was run"
  echo "0 passed, 1 failed"
  exit 1
fi

# A test that hangs fails after a while; -q prints what fails only.
note "running the tests"
results="build/$preset/test-results.json"
rm -f "$results"
build/venv/bin/python3 /usr/lib/llvm-22/bin/lit -q -v --output "$results" \
  --timeout $((full ? 7200 : 1200)) --param full=$full \
  ${lit_options[@]+"${lit_options[@]}"} "build/$preset/test" || true
build/venv/bin/python3 scripts/summarize_tests.py "$results"
