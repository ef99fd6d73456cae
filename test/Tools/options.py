# RUN: %python %s %t %tessera_src_root | FileCheck %s
# CHECK: {{^[1-9][0-9]*}} values of {{[1-9][0-9]*}} options: all as they should be
"""Every option of a tool or a pass that takes a value refuses absurd ones.

The options are those that --help prints. One that the table below lacks is a
failure: what it takes must be said here.
"""

import os
import re
import subprocess
import sys

FOLDER, ROOT = sys.argv[1:]
HLO = f"{ROOT}/examples/mlp_softmax.hlo"
TOOLS = ["tessera-layout", "tessera-hlo", "tessera-compile", "tessera-run"]
VALUES = ["-1", "0", "48", "nonsense", "9223372036854775808"]

NONE, COUNTS = set(), {"0", "48"}
# What follows an option is a name of a file or of a function, or a text: of these
# any is one, or it is opened, which other tests look at.
FREE = None

# What of VALUES each option takes; behind it what else its command needs.
SUBCOMMANDS = {
    "tessera-layout bitcast": (["f32[2]", "f32[2]"], {"transpose": {"0"}}),
    "tessera-layout default": (["f32[2]"], {"target": NONE}),
    "tessera-layout draw": (["f32[2]"], {"columns": {"48"}, "rows": {"48"}, "width": {"0", "48"}, "o": FREE}),
    "tessera-layout dump": (["f32[2]"], {"byte": {"0"}}),
    "tessera-layout explain": (["f32[2]"], {"target": NONE}),
    "tessera-hlo advise": ([HLO], {"limit": COUNTS}),
    "tessera-hlo assign": (
        [HLO],
        {"candidates": NONE, "limit": COUNTS, "nodes": COUNTS, "o": FREE, "unknown-trips": {"48"}},
    ),
    "tessera-hlo diff": ([HLO, HLO], {"fail-if": NONE, "o": FREE}),
    "tessera-hlo expand-bitcasts": ([HLO], {"redraw-layouts": COUNTS}),
    "tessera-hlo kernels": ([HLO], {"o": FREE}),
    "tessera-hlo oom": ([f"{FOLDER}/log"], {"limit": COUNTS}),
    "tessera-hlo print": ([HLO], {"separator": FREE, "time": COUNTS}),
    "tessera-hlo report": ([HLO], {"fail-if": NONE, "group": NONE, "limit": COUNTS, "target": NONE, "o": FREE}),
    "tessera-compile calibrate": ([], {"o": FREE}),
    "tessera-compile relayout": (
        ["f32[2]", "f32[2]", "-o", f"{FOLDER}/out.so"],
        {
            "src-box": NONE,
            "dst-box": NONE,
            "buffers": NONE,
            "emit": NONE,
            "target": NONE,
            "target-cpu": NONE,
            "threads": {"48"},
            "batch": FREE,
            "openmp-library": FREE,
            "symbol": FREE,
            "machine": NONE,
            "o": FREE,
        },
    ),
}
PASSES = {
    "tessera-assign-address-spaces": {"map": NONE},
    "tessera-assign-layouts": {"target": NONE},
    "tessera-lower-relayouts": {"max-nests": {"48"}, "parallel-bytes": COUNTS, "threads": {"48"}},
    "tessera-propagate-layouts": {"max-candidates": NONE, "unknown-size": {"48"}, "unknown-trips": {"48"}},
    "tessera-report": {"function": NONE},
    "tessera-parallelize-loops": {"parallel-bytes": COUNTS, "threads": {"48"}},
    "tessera-vectorize-contractions": {
        "parallel-bytes": COUNTS,
        "threads": {"48"},
        "vector-bytes": NONE,
        "vector-registers": {"48"},
    },
    "tessera-vectorize-relayouts": {
        "buffers": NONE,
        "cpu": NONE,
        "machine": NONE,
        "nontemporal-bytes": COUNTS,
        "parallel-bytes": COUNTS,
        "threads": {"48"},
        "vector-bytes": NONE,
    },
    "tessera-to-affine": {"address-spaces": NONE, "max-nests": {"48"}},
    "tessera-to-llvm": {
        "address-spaces": NONE,
        "buffers": NONE,
        "cpu": NONE,
        "machine": NONE,
        "max-nests": {"48"},
        "parallel-bytes": COUNTS,
        "threads": {"48"},
        "vector-bytes": NONE,
        "vector-registers": {"48"},
    },
}

OPTION = re.compile(r"^ +--?([\w-]+)[= ]<[^>]*>", re.MULTILINE)
failures, tried = [], 0


def help_of(*command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout


def find_subcommands(tool):
    part = help_of(tool).split("SUBCOMMANDS:")[1].split("Type")[0]
    return re.findall(r"^ +([\w-]+) +- ", part, re.MULTILINE)


def find_pass_options():
    """Options of each pass and pipeline of ours."""
    found, name = {}, None
    for line in help_of("tessera-opt").splitlines():
        if match := re.match(r"^ {6}--([\w-]+)", line):
            name = match[1] if match[1].startswith("tessera-") else None
        elif name and (match := re.match(r"^ {8}--([\w-]+)=<", line)):
            found.setdefault(name, set()).add(match[1])
    return found


def check(what, option, value, accepted, command):
    """A value that is not taken is refused by a message with both."""
    global tried
    tried += 1
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if value in accepted:
        if done.returncode != 0:
            failures.append(f"{what}: {option}={value} is refused: {done.stderr}")
        return
    said = done.stderr + done.stdout
    # What is no permutation is the answer to a question.
    is_named = value in said and re.search("invalid|unsupported|Cannot find|no permutation", said)
    if done.returncode not in (1, 2) or not is_named:
        failures.append(f"{what}: {option}={value} gives exit code {done.returncode} and says {said!r}")


def compare(what, found, known):
    if set(found) != set(known):
        failures.append(f"{what} has options {sorted(found)}, here are {sorted(known)}")


def check_tools():
    for tool in TOOLS:
        for name in find_subcommands(tool):
            what = f"{tool} {name}"
            arguments, known = SUBCOMMANDS.get(what, ([], {}))
            compare(what, OPTION.findall(help_of(tool, name)), known)
            for option, accepted in known.items():
                for value in VALUES if accepted is not FREE else []:
                    check(what, option, value, accepted, [tool, name, *arguments, f"--{option}={value}"])


def check_passes():
    found = find_pass_options()
    compare("tessera-opt", found, PASSES)
    for name, known in PASSES.items():
        compare(name, found.get(name, set()), known)
        for option, accepted in known.items():
            for value in VALUES:
                check(name, option, value, accepted, ["tessera-opt", f"{FOLDER}/m.mlir", f"--{name}={option}={value}"])


os.makedirs(FOLDER, exist_ok=True)
with open(f"{FOLDER}/m.mlir", "w") as file:
    file.write("func.func @f(%a: memref<2xf32, #tessera.memory_space<1>>) { return }\n")
with open(f"{FOLDER}/log", "w") as file:
    file.write("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.0G of 15.75G hbm.\n")
check_tools()
check_passes()
print("\n".join(failures))
count = sum(len(known) for _, known in SUBCOMMANDS.values()) + sum(map(len, PASSES.values()))
print(f"{tried} values of {count} options: {'not all' if failures else 'all'} as they should be")
sys.exit(bool(failures))
