#!/usr/bin/env bash
#
# Installs what is missing (Debian 12, as root or with sudo), builds the tools,
# and moves the weights of a real TPU module into the layout that the TPU's
# compiler chose for them, and back.

source "$(dirname "$0")/common.sh"

prepare
note "building the tools"
configure release
cmake --build build/release --target tessera-layout tessera-opt tessera-run

PATH="$PWD/build/release/bin:$PATH" examples/relayout.sh \
  build/venv/bin/python3 build/demo
