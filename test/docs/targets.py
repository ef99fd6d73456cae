# RUN: %python %s %tessera_src_root/docs/targets.md | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} spaces as the page has them
"""What docs/targets.md says of spaces is what the passes emit.

For each space of each target in the table, a buffer is allocated there: its
alignment is that of the table, or 64 where that is more, and its address space
that of the table.
"""

import re
import subprocess
import sys

MODULE = """
!t = tensor<8xf32{encoding}>
module attributes {{tessera.target = #tessera.target<"{target}">}} {{
  func.func @f(%i: index) -> f32 {{
    %a = tessera.empty() : !t
    %c = arith.constant 1.0 : f32
    %b = tensor.insert %c into %a[%i] : !t
    %d = tensor.extract %b[%i] : !t
    return %d : f32
  }}
}}
"""


def read_table(path):
    """(target, number, alignment, address space); "every TPU" for all of these."""
    target = ""
    with open(path) as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not line.startswith("|") or len(cells) != 5 or not cells[3].isdigit():
                continue
            target = cells[0].strip("`") or target
            for number in re.findall(r"(?:^|, )(\d+) ", cells[1]):
                yield target, int(number), int(cells[3]), int(cells[4])


def emit(target, number):
    """The alignment and the address space of a buffer."""
    encoding = f", #tessera.layout<{{0:S({number})}}>" if number else ""
    text = MODULE.format(target=target, encoding=encoding)
    command = ["tessera-opt", "--tessera-expand-ops", "--tessera-bufferize", "--tessera-lower-layouts"]
    command.append("--tessera-assign-address-spaces")
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    found = re.search(r"memref.alloc\(\) \{alignment = (\d+) : i64\} : memref<8xf32(?:, (\d+))?>", done.stdout)
    assert found, f"{target}, space {number}: {done.stderr or done.stdout}"
    return int(found[1]), int(found[2] or 0)


def main():
    rows = list(read_table(sys.argv[1]))
    tpus = sorted({target for target, *_ in rows if target.startswith("tpu_")})
    count = 0
    for row, number, alignment, address_space in rows:
        for target in tpus if row == "every TPU" else [row]:
            expected = max(alignment, 64), address_space
            found = emit(target, number)
            assert found == expected, f"{target}, space {number}: emitted {found}, the page has {expected}"
            count += 1
    assert len(tpus) >= 7 and {"cpu", "nvgpu"} <= {target for target, *_ in rows}
    print(f"{count} spaces as the page has them")


main()
