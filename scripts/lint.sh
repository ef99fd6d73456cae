#!/usr/bin/env bash
#
# Checks the sources: clang-format, ruff, then clang-tidy on what a build
# compiles.
#
#   scripts/lint.sh [--format-only | --fix] [--last=N | FILE.cpp...]
#
#   --format-only   leave clang-tidy out
#   --fix           repair what can be repaired in place
#   --last=N        clang-tidy on the N sources that changed last
#   FILE.cpp        the files for clang-tidy; all by default

source "$(dirname "$0")/common.sh"

# changed_last N: the N sources that changed last and are still there.
changed_last() {
  git log --format= --name-only -- '*.cpp' | awk '!seen[$0]++' |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done | head -n "$1"
}

fix=0
tidy=1
files=()
for argument in "$@"; do
  case "$argument" in
  --fix) fix=1 ;;
  --format-only) tidy=0 ;;
  --last=*)
    mapfile -t files < <(changed_last "${argument#--last=}")
    ;;
  -h | --help) sed -n '3,11s/^# \{0,1\}//p' scripts/lint.sh && exit ;;
  -*) fail "unknown option $argument" ;;
  *) files+=("$argument") ;;
  esac
done

mkdir -p build
install_packages
install_venv

note "clang-format"
mapfile -t sources < <(git ls-files '*.c' '*.cpp' '*.h')
if [ $fix = 1 ]; then
  clang-format-22 -i "${sources[@]}"
else
  clang-format-22 --dry-run -Werror "${sources[@]}"
fi

note "ruff"
ruff_options=(--quiet)
[ $fix = 0 ] || ruff_options+=(--fix)
build/venv/bin/ruff check "${ruff_options[@]}" .
[ $tidy = 1 ] || exit 0

# clang-tidy needs the generated headers, thus a build.
note "clang-tidy"
configure release
cmake --build build/release
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(git ls-files '*.cpp')
fi
options=(-quiet -p build/release)
[ $fix = 0 ] || options+=(-fix)
run-clang-tidy-22 "${options[@]}" "${files[@]/#/$PWD/}"
