#!/usr/bin/env bash
#
# The weights of a real TPU module go into the layout that the TPU's compiler
# chose for them, and back. scripts/demo.sh builds the tools and runs this.
#
#   examples/relayout.sh PYTHON FOLDER
#
# The tools are those of the path, PYTHON has numpy, and FOLDER is made anew.

set -euo pipefail
examples=$(dirname "$0")
module=$examples/mlp_softmax
python=$1
work=$2
rm -rf "$work"
mkdir -p "$work"

# note TEXT...: what comes next.
note() { printf '\n== %s\n' "$*"; }

# show COMMAND...: prints a command as one would type it, then what it says.
show() {
  local argument
  printf '\n$'
  for argument in "$@"; do
    case "$argument" in
    *[!A-Za-z0-9_./=-]*) printf " '%s'" "$argument" ;;
    *) printf ' %s' "$argument" ;;
    esac
  done
  printf '\n'
  "$@"
}

note "1. the array: the weights of a layer, in a module for a TPU v5e"
weights=$(sed -n '/^ENTRY/,$ s/.* = \([^ ]*\) parameter(1).*/\1/p' "$module.hlo")
dims=${weights%%\{*}
grep -o '^ *%[a-z]*\.1 = [^ ]* parameter([01])' "$module.hlo"
show tessera-layout size "$weights"

note "2. its first tiles in memory; · is padding"
show tessera-layout draw --rows=4 --columns=8 "$weights"

note "3. the loops that move it there: no division, no remainder"
sizes=${dims#*\[}
plain="${sizes//[],]/x}${dims%%\[*}"
tiled="$plain, #tessera.layout<${weights#"$dims"}>"
cat >"$work/relayout.mlir" <<MLIR
func.func @to_tpu(%w: tensor<$plain>)
    -> tensor<$tiled> {
  %t = tessera.relayout %w : tensor<$plain>
      to tensor<$tiled>
  return %t : tensor<$tiled>
}
MLIR
show cat "$work/relayout.mlir"
show tessera-opt --tessera-to-affine "$work/relayout.mlir"

note "4. the loops compiled and run, and the way back"
numpy=("$python" "$examples/relayout_by_numpy.py")
"${numpy[@]}" extract "$module.npz" "$work/weights.bin"
show tessera-run relayout "$dims" "$weights" "$work/weights.bin" "$work/tpu.bin"
show tessera-run relayout "$weights" "$dims" "$work/tpu.bin" "$work/back.bin"
show wc -c "$work/weights.bin" "$work/tpu.bin" "$work/back.bin"
"${numpy[@]}" check "$module.npz" "$work/tpu.bin"
cmp "$work/weights.bin" "$work/back.bin"
echo "the way back gives the same bytes"
