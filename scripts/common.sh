# shellcheck shell=bash
# What the scripts share. Source it: it goes to the root of the project, and
# `prepare` makes the machine ready.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Debian packages to build, test and lint. LLVM 22 is in Debian 12's security
# updates.
packages=(
  ca-certificates
  clang-22
  clang-format-22
  clang-tidy-22
  cmake
  g++
  git
  libbenchmark-dev
  libclang-rt-22-dev
  libgmock-dev
  libgtest-dev
  libmlir-22-dev
  libomp-22-dev
  libprotobuf-dev
  lld-22
  llvm-22-dev
  llvm-22-tools
  mlir-22-tools
  ninja-build
  protobuf-compiler
  python3
  python3-dev
  python3-venv
)

# note TEXT...: what happens next.
note() { printf '\n== %s\n' "$*"; }

# fail TEXT...: ends the script.
fail() {
  printf '%s: error: %s\n' "$0" "$*" >&2
  exit 1
}

# as_root COMMAND...: as root, by sudo where needed.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "must be root, or sudo be there, to install packages"
  fi
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs the packages that are missing; touches apt only if there are any.
install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  note "installing ${missing[*]}"
  as_root apt-get update -q
  apt-cache show libmlir-22-dev >/dev/null 2>&1 ||
    fail "there is no LLVM 22 in apt's sources; in Debian 12 it is in" \
      "'deb http://deb.debian.org/debian-security bookworm-security main'"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# The Python of the build and the tests, build/venv, with the versions that
# test/requirements.txt pins. Debian's own python3 makes it: python3-venv belongs
# to that one.
install_venv() {
  local venv=build/venv stamp=build/venv/requirements.txt
  cmp -s test/requirements.txt "$stamp" && return
  note "installing the Python packages of the tests in $venv"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --only-binary=:all: -r test/requirements.txt
  cp test/requirements.txt "$stamp"
}

# The wheel that python/mlir-sources.txt pins, in build/downloads. CMake takes the
# sources of MLIR's Python bindings out of it.
download_mlir_sources() {
  local folder=build/downloads stamp=build/downloads/mlir-sources.txt
  cmp -s python/mlir-sources.txt "$stamp" && return
  note "downloading the sources of MLIR's Python bindings to $folder"
  rm -rf "$folder"
  build/venv/bin/pip download --quiet --disable-pip-version-check --no-deps \
    --only-binary=:all: --dest "$folder" -r python/mlir-sources.txt
  cp python/mlir-sources.txt "$stamp"
}

# configure PRESET: by CMake, with ccache where it is there.
configure() {
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER="${CMAKE_C_COMPILER_LAUNCHER:-ccache}"
    export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER:-ccache}"
  fi
  cmake --preset "$1" >"build/$1.configure.log" 2>&1 || {
    cat "build/$1.configure.log"
    return 1
  }
}

prepare() {
  mkdir -p build
  install_packages
  install_venv
  download_mlir_sources
}
