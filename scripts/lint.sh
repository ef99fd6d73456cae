#!/usr/bin/env bash
#
# Checks the sources: clang-format, then clang-tidy on what a build compiles.
#
#   scripts/lint.sh [--format-only | --fix] [FILE.cpp...]
#
#   --format-only   leave clang-tidy out
#   --fix           repair what can be repaired in place
#   FILE.cpp        the files for clang-tidy; all by default

source "$(dirname "$0")/common.sh"

fix=0
tidy=1
files=()
for argument in "$@"; do
  case "$argument" in
  --fix) fix=1 ;;
  --format-only) tidy=0 ;;
  -h | --help) sed -n '3,9s/^# \{0,1\}//p' scripts/lint.sh && exit ;;
  -*) fail "unknown option $argument" ;;
  *) files+=("$argument") ;;
  esac
done

install_packages

note "clang-format"
mapfile -t sources < <(git ls-files '*.c' '*.cpp' '*.h')
if [ $fix = 1 ]; then
  clang-format-22 -i "${sources[@]}"
else
  clang-format-22 --dry-run -Werror "${sources[@]}"
fi
[ $tidy = 1 ] || exit 0

# clang-tidy needs the generated headers, thus a build.
note "clang-tidy"
mkdir -p build
configure release
cmake --build build/release
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(git ls-files '*.cpp')
fi
options=(-quiet -p build/release)
[ $fix = 0 ] || options+=(-fix)
run-clang-tidy-22 "${options[@]}" "${files[@]/#/$PWD/}"
