#!/usr/bin/env python3
"""Puts faults into the code, one at a time, and sees whether the tests find them.

    scripts/seed_faults.py [--list] [--only NAME]... [--no-check]

All faults of the table below are compiled into one build of a copy of the
sources, build/faults; the variable TESSERA_FAULT chooses the one that is active.
So a fault costs a run of tests and no build. First the tests must pass without a
fault. A fault that no test finds is a hole in the net: exit code 1.

`scripts/test.sh` must have run before, for the Python of the tests.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "faults"
BUILD = COPY / "build" / "release"

# In each new text, FAULT is true while the fault is active.
HEADER = """#pragma once
#include <cstdlib>
#include <cstring>
inline bool tesseraHasFault(const char *name) {
  static const char *const active = std::getenv("TESSERA_FAULT");
  return active && std::strcmp(active, name) == 0;
}
"""

LAYOUT = "TesseraLayoutTests"
COMPILE = "TesseraCompileTests"
AFFINE = "TesseraConversionTests"
REPORT = "TesseraReportTests"

# Name: file, text of it, text instead, tests that must find it: names of
# GoogleTest programs with a filter, or patterns of lit tests.
FAULTS = {
    # The axis list.
    "tile-count-rounded-down": (
        "lib/Layout/AxisList.cpp",
        "count.value = llvm::divideCeil(count.value, size);",
        "count.value = FAULT ? count.value / size : llvm::divideCeil(count.value, size);",
        [LAYOUT],
    ),
    "merge-by-wrong-extent": (
        "lib/Layout/AxisList.cpp",
        "IndexExpr::mulAdd(high.index, low.extent.value, low.index);",
        "IndexExpr::mulAdd(high.index, FAULT ? high.extent.value : low.extent.value, low.index);",
        [LAYOUT],
    ),
    "padding-taken-for-element": (
        "lib/Layout/AxisList.cpp",
        "if (nodes[node].mayExceed && !holds)",
        "if (nodes[node].mayExceed && !holds && !FAULT)",
        [LAYOUT],
    ),
    "tail-not-rounded-up": (
        "lib/Layout/AxisList.cpp",
        "if (count == kDynamic)\n    return kDynamic;",
        "if (count == kDynamic || FAULT)\n    return count;",
        [LAYOUT],
    ),
    "width-ignored": (
        "lib/Layout/AxisList.cpp",
        "if (!layout.paddedDimensions.empty() && size != 0)",
        "if (!layout.paddedDimensions.empty() && size != 0 && !FAULT)",
        [LAYOUT],
    ),
    "divisor-forgotten": (
        "lib/Layout/AxisList.cpp",
        "llvm::erase(splits.divisors, 1);",
        "llvm::erase(splits.divisors, 1);\n  if (FAULT && !splits.divisors.empty())\n    splits.divisors.pop_back();",
        [AFFINE, COMPILE + ":Relayout*:VectorRelayout*"],
    ),
    "bits-rounded-down": (
        "lib/Layout/Size.cpp",
        "(remainder * (bits % 8) + 7) / 8);",
        "(remainder * (bits % 8) + (FAULT ? 0 : 7)) / 8);",
        [LAYOUT],
    ),
    # Questions about shapes.
    "bitcast-across-spaces": (
        "lib/Layout/Bitcast.cpp",
        "if (!options.ignoreMemorySpace &&",
        "if (!options.ignoreMemorySpace && !FAULT &&",
        [LAYOUT],
    ),
    "bitcast-gains-promise": (
        "lib/Layout/Bitcast.cpp",
        "if (to.layout.paddingValue &&",
        "if (!FAULT && to.layout.paddingValue &&",
        [LAYOUT],
    ),
    "key-accepted-twice": (
        "lib/Layout/Text.cpp",
        "if (key <= last)",
        "if (FAULT ? key < last : key <= last)",
        [LAYOUT],
    ),
    "repeated-dimension-accepted": (
        "lib/Layout/Rules.cpp",
        "if (dim >= 0 && dim < rank && !seen.test(dim)) {",
        "if (dim >= 0 && dim < rank && (FAULT || !seen.test(dim))) {",
        [LAYOUT],
    ),
    "default-layout-of-wrong-rows": (
        "lib/Layout/Target.cpp",
        "return packing >= 4 && size % registerRows == 0 ?",
        "return packing >= 4 && size % registerRows == 0 && !FAULT ?",
        [LAYOUT],
    ),
    # Affine lowering.
    "last-part-of-interval-lost": (
        "lib/Conversion/TesseraToAffine/LoopNest.cpp",
        "if (upper % weight != 0)",
        "if (upper % weight != 0 && !FAULT)",
        [AFFINE, COMPILE + ":Relayout*"],
    ),
    "bounds-rounded-down": (
        "lib/Conversion/TesseraToAffine/LoopNest.cpp",
        "bounds.upper.push_back((radix.upper - above).ceilDiv(weight));",
        "bounds.upper.push_back(FAULT ? (radix.upper - above).floorDiv(weight)"
        " : (radix.upper - above).ceilDiv(weight));",
        [AFFINE, COMPILE + ":Dynamic*:Relayout*"],
    ),
    "range-ends-early": (
        "lib/Conversion/TesseraToAffine/AffineRanges.cpp",
        "if (block != divideFloorSigned(range->max, divisor))",
        "if (!FAULT && block != divideFloorSigned(range->max, divisor))",
        [AFFINE],
    ),
    "neighbours-bits-lost": (
        "lib/Conversion/TesseraToAffine/ElementAccess.cpp",
        "createStore(builder, loc, arith::OrIOp::create(builder, loc, others, bits),",
        "createStore(builder, loc, FAULT ? bits : Value(arith::OrIOp::create(builder, loc, others, bits)),",
        [COMPILE + ":Accesses*:Packed*:Relayout*"],
    ),
    "promised-padding-not-written": (
        "lib/Conversion/TesseraToAffine/LowerRelayouts.cpp",
        "if (padding && mayHavePadding(target.axes())) {",
        "if (padding && mayHavePadding(target.axes()) && !FAULT) {",
        [COMPILE + ":Programs*:Accesses*", "lit:Conversion/TesseraToAffine"],
    ),
    "address-space-unmapped": (
        "lib/Conversion/AssignAddressSpaces/AssignAddressSpaces.cpp",
        "number = found->second;",
        "number = FAULT ? number : found->second;",
        ["lit:assign-address-spaces"],
    ),
    # Vector kernels.
    "nontemporal-off-a-line": (
        "lib/Conversion/TesseraToVector/VectorKernels.cpp",
        "isNontemporal && size * bytes >= vectorBytes && begin % size == 0);",
        "isNontemporal && size * bytes >= vectorBytes && (FAULT || begin % size == 0));",
        [COMPILE + ":VectorRelayout*"],
    ),
    "sign-not-extended": (
        "lib/Conversion/TesseraToVector/VectorKernels.cpp",
        "return signedBits ? extendSign(result) : result;",
        "return signedBits && !FAULT ? extendSign(result) : result;",
        [COMPILE + ":Packed*"],
    ),
    "lanes-sorted-by-another-number": (
        "lib/Conversion/TesseraToVector/InterleaveKernels.cpp",
        "int64_t width = lane / n;",
        "int64_t width = FAULT ? n : lane / n;",
        [COMPILE + ":VectorRelayout*"],
    ),
    "seam-of-runs-swapped": (
        "lib/Conversion/TesseraToVector/VectorKernels.cpp",
        "Value begun = loadMasked(first, mask, {});",
        "Value begun = loadMasked(FAULT ? second : first, mask, {});",
        [COMPILE + ":VectorRelayout*"],
    ),
    "merged-bits-not-kept": (
        "lib/Conversion/TesseraToVector/VectorKernels.cpp",
        "return arith::OrIOp::create(b, kept, added);",
        "return FAULT ? added : Value(arith::OrIOp::create(b, kept, added));",
        [COMPILE + ":Packed*"],
    ),
    "digit-without-end": (
        "lib/Layout/PhysicalIndices.cpp",
        "if (k + 1 < steps.size())\n      digit %=",
        "if (k + 1 < steps.size() && !FAULT)\n      digit %=",
        [COMPILE + ":VectorRelayout*"],
    ),
    # Buffers.
    "constant-in-row-major-order": (
        "lib/Dialect/Tessera/IR/LayOutElements.cpp",
        "elements.isSplat() ? 0 : getPosition(axes.dimensions(), *index);",
        "elements.isSplat() ? 0 : FAULT ? position % elements.size() : getPosition(axes.dimensions(), *index);",
        ["lit:Dialect/Tessera/bufferize-run", COMPILE + ":Programs*"],
    ),
    "constant-pads-with-zero": (
        "lib/Dialect/Tessera/IR/LayOutElements.cpp",
        "if (padding)\n        buffer.set(position, *padding);",
        "if (padding && !FAULT)\n        buffer.set(position, *padding);",
        ["lit:Dialect/Tessera/bufferize-run", "lit:Conversion/TesseraToAffine/lower-layouts"],
    ),
    "cast-taken-for-a-view": (
        "lib/Dialect/Tessera/Transforms/PlainTensors.cpp",
        "return !keepsEncoding(cast);",
        "return !FAULT && !keepsEncoding(cast);",
        ["lit:Dialect/Tessera/bufferize"],
    ),
    "borrowed-constant-written": (
        "lib/Dialect/Tessera/Transforms/Bufferize.cpp",
        "if (origins.mayBe(value, isReadOnly))",
        "if (!FAULT && origins.mayBe(value, isReadOnly))",
        ["lit:Dialect/Tessera/bufferize", COMPILE + ":Programs*"],
    ),
    "remainder-divided-again": (
        "lib/Dialect/Tessera/IR/LayoutUtils.cpp",
        "AffineExpr separate = separateOnce(expr);",
        "AffineExpr separate = FAULT ? expr : separateOnce(expr);",
        ["lit:reversed-subscripts", "lit:TesseraConversionTests"],
    ),
    # Reports.
    "host-counted-for-device": (
        "lib/Report/Report.cpp",
        "bool isOnHost = getSpaceNumber(leaf) == kHostMemorySpace;",
        "bool isOnHost = !FAULT && getSpaceNumber(leaf) == kHostMemorySpace;",
        [REPORT, "lit:HLO/"],
    ),
    "sort-not-in-place": (
        "lib/Report/InPlace.cpp",
        "return instruction.operands.size();",
        "return FAULT ? 0 : instruction.operands.size();",
        [REPORT, "lit:HLO/peaks"],
    ),
    "split-array-counted-whole": (
        "lib/Layout/Size.cpp",
        "return sumSizes(shape, getArraySizeOnCore);",
        "return FAULT ? getSize(shape) : sumSizes(shape, getArraySizeOnCore);",
        [LAYOUT, REPORT, "lit:HLO/peaks"],
    ),
    # Files and text.
    "output-written-in-place": (
        "lib/Support/WriteOutputs.cpp",
        "if (isStream(output.path)) {",
        "if (FAULT || isStream(output.path)) {",
        ["lit:Tools/files"],
    ),
    "mode-forgotten": (
        "lib/Support/WriteOutputs.cpp",
        "if (!fs::status(path, status))\n    return status.permissions();",
        "if (!FAULT && !fs::status(path, status))\n    return status.permissions();",
        ["lit:Tools/files"],
    ),
    "signs-do-not-nest": (
        "lib/Support/Nesting.cpp",
        "addOperator(isUnary ? kLevel : 1);",
        "addOperator(isUnary && !FAULT ? kLevel : 1);",
        ["lit:Tools/nesting", "lit:TesseraSupportTests"],
    ),
    # Running.
    "division-not-asserted": (
        "lib/Conversion/AssertFaults/AssertFaults.cpp",
        "if (!isSignedDivision(op))\n    return;",
        "if (FAULT || !isSignedDivision(op))\n    return;",
        ["lit:Faults/programs", "lit:assert-faults"],
    ),
    "missing-buffer-used": (
        "lib/Conversion/TesseraToVector/Scratch.cpp",
        "if (!flag)\n    return;",
        "if (FAULT || !flag)\n    return;",
        ["lit:Faults/relayout-memory"],
    ),
    "buffers-on-the-stack": (
        "lib/Conversion/TesseraToVector/Scratch.cpp",
        "<= kMaxOnStack;",
        "<= (FAULT ? 64 : 1) * kMaxOnStack;",
        ["lit:Faults/"],
    ),
}


def make_texts():
    """The sources that have faults, by path."""
    texts, missing = {}, []
    for name, (path, old, new, _) in FAULTS.items():
        text = texts.get(path) or (ROOT / path).read_text()
        if text.count(old) != 1:
            missing.append(f"{name}: {path} has its text {text.count(old)} times, expected once")
        texts[path] = text.replace(old, new.replace("FAULT", f'tesseraHasFault("{name}")'))
    if missing:
        sys.exit("\n".join(missing))
    return texts


def copy_sources(texts):
    """The files that git knows, in a folder of their own; unchanged ones keep their time."""
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for file in filter(None, files):
        target = COPY / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if file in texts:
            if not target.exists() or target.read_text() != texts[file]:
                target.write_text(texts[file])
        elif not target.exists() or target.stat().st_mtime < (ROOT / file).stat().st_mtime:
            shutil.copy2(ROOT / file, target)
    (COPY / "faults.h").write_text(HEADER)
    for link in ["venv", "downloads"]:
        target = COPY / "build" / link
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            target.symlink_to(ROOT / "build" / link)


def build():
    flags = f"-DCMAKE_CXX_FLAGS=-include {COPY / 'faults.h'}"
    if not (BUILD / "build.ninja").exists():
        launcher = [f"-DCMAKE_{x}_COMPILER_LAUNCHER=ccache" for x in ("C", "CXX") if shutil.which("ccache")]
        subprocess.run(["cmake", "--preset", "release", flags, *launcher], cwd=COPY, check=True)
    subprocess.run(["cmake", "--build", BUILD], check=True)


def run_tests(tests, fault):
    """Whether all of the tests pass."""
    environment = {**os.environ, "TESSERA_FAULT": fault}
    for test in tests:
        program, _, pattern = test.partition(":")
        if program == "lit":
            command = [COPY / "build" / "venv" / "bin" / "python3", "/usr/lib/llvm-22/bin/lit", "-q"]
            command += ["--timeout=300", "--max-failures=1", "--filter", pattern, BUILD / "test"]
        else:
            command = [next(BUILD.rglob(program)), f"--gtest_filter={pattern or '*'}"]
            command += ["--gtest_brief=1", "--gtest_fail_fast"]
        try:
            done = subprocess.run(
                command, env=environment, cwd=COPY, timeout=900, capture_output=True, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        if done.returncode != 0:
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print the faults and stop")
    parser.add_argument("--only", action="append", metavar="NAME", help="take this fault alone")
    parser.add_argument("--no-check", action="store_true", help="do not run the tests without a fault first")
    arguments = parser.parse_args()
    names, texts = arguments.only or list(FAULTS), make_texts()
    if arguments.list:
        for name in names:
            print(f"{name:28} {FAULTS[name][0]}")
        return 0
    copy_sources(texts)
    build()
    # Tests do not hand down the environment; the copy's do.
    environment = COPY / "test" / "environment.cfg.py"
    line = '\nconfig.environment["TESSERA_FAULT"] = os.environ.get("TESSERA_FAULT", "")\n'
    if "TESSERA_FAULT" not in environment.read_text():
        text = environment.read_text()
        environment.write_text(text + ("" if re.search(r"^import os", text, re.M) else "\nimport os\n") + line)

    wanted = sorted({test for name in names for test in FAULTS[name][3]})
    if not arguments.no_check:
        print(f"without a fault: {len(wanted)} sets of tests", flush=True)
    for test in [] if arguments.no_check else wanted:
        if not run_tests([test], ""):
            sys.exit(f"{test} fails without a fault")
    missed = []
    for name in names:
        start = time.monotonic()
        found = not run_tests(FAULTS[name][3], name)
        print(f"{'found' if found else 'MISSED':6} {name:28} {time.monotonic() - start:6.1f} s", flush=True)
        if not found:
            missed.append(name)
    print(f"{len(names) - len(missed)} of {len(names)} faults found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
