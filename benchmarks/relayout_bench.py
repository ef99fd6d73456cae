#!/usr/bin/env python3
# Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times compiled relayouts and writes them down as a table and a plot.

Runs TesseraRelayoutBenchmarks, which times memcpy of the elements' bytes, the
vector kernels, also with buffers that begin off a line, the plain loop over
elements and the compiler on the cases of relayout_cases.txt, takes the best of
all repetitions, and prints a Markdown table. With --page the table between the
markers of that page is replaced, and the plot beside it:

    ninja -C build/release TesseraRelayoutBenchmarks
    benchmarks/relayout_bench.py build/release/benchmarks/TesseraRelayoutBenchmarks \\
        --page docs/performance-results.md
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
from html import escape

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- table of relayout_bench.py -->", "<!-- end of the table -->"
SERIES = [("kernels:1", "kernels", "#2a6fbb"),
          ("kernels:2", "kernels, two threads", "#9cc3ea"),
          ("loop", "loop over elements", "#c9c9c9")]


def measure(program, cases, repetitions, min_time):
    """{case: {what: best seconds}} and {case: rate of memcpy in bytes a second}."""
    run = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_filter={cases}",
         f"--benchmark_repetitions={repetitions}",
         f"--benchmark_min_time={min_time}",
         "--benchmark_enable_random_interleaving=true"],
        check=True, capture_output=True, text=True)
    times = collections.defaultdict(dict)
    rates = {}
    for result in json.loads(run.stdout)["benchmarks"]:
        if result["run_type"] != "iteration":
            continue
        if result.get("error_occurred"):
            sys.exit(f"{result['name']}: {result['error_message']}")
        case, what = result["name"].split("/")[:2]
        seconds = result["real_time"] * 1e-6
        times[case][what] = min(times[case].get(what, seconds), seconds)
        if what == "memcpy":
            rates[case] = max(rates.get(case, 0), result["bytes_per_second"])
    return times, rates


def read_cases():
    """{name: (source, destination)}, in order."""
    lines = (HERE / "relayout_cases.txt").read_text().splitlines()
    return {line.split()[0]: tuple(line.split()[1:])
            for line in lines if line and not line.startswith("#")}


def make_table(cases, times, rates):
    rows = ["| case | from | to | memcpy GB/s | kernels | two threads | loop "
            "| off a line | compiled in ms |",
            "|---|---|---|---|---|---|---|---|---|"]
    for name, (source, destination) in cases.items():
        if name not in times:
            continue
        best = times[name]
        whats = [what for what, _, _ in SERIES] + ["kernels:off"]
        ratios = [f"{best['memcpy'] / best[what]:.2f}" for what in whats]
        rows.append(f"| {name} | `{source}` | `{destination}` "
                    f"| {rates[name] / 1e9:.1f} | {' | '.join(ratios)} "
                    f"| {best['compile'] * 1e3:.0f} |")
    return "\n".join(rows) + "\n"


def make_plot(cases, times):
    """Bars of the ratios to memcpy, as SVG."""
    names = [name for name in cases if name in times]
    left, width, bar, gap = 170, 520, 7, 8
    step = bar * len(SERIES) + gap
    ratios = {name: [times[name]["memcpy"] / times[name][what]
                     for what, _, _ in SERIES] for name in names}
    top = 34
    height = top + step * len(names) + 24
    most = max(2.0, max(max(r) for r in ratios.values()))
    scale = width / most
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}"'
           f' height="{height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{left + width + 30}" height="{height}" fill="white"/>']
    x = left
    for _, label, color in SERIES:
        out.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{color}"/>'
                   f'<text x="{x + 14}" y="17">{escape(label)}</text>')
        x += 30 + 6 * len(label)
    for tick in range(int(most * 2) + 1):
        at = left + tick / 2 * scale
        color = "#444444" if tick == 2 else "#dddddd"
        out.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top - 6}"'
                   f' y2="{height - 20}" stroke="{color}"/>'
                   f'<text x="{at:.1f}" y="{height - 6}"'
                   f' text-anchor="middle">{tick / 2:g}</text>')
    for row, name in enumerate(names):
        y = top + row * step
        out.append(f'<text x="{left - 8}" y="{y + step / 2 + 1:.1f}"'
                   f' text-anchor="end">{escape(name)}</text>')
        for i, ratio in enumerate(ratios[name]):
            out.append(f'<rect x="{left}" y="{y + i * bar}" height="{bar - 1}"'
                       f' width="{ratio * scale:.1f}" fill="{SERIES[i][2]}"/>')
    return "\n".join(out + ["</svg>"]) + "\n"


def write_page(page, table, plot):
    text = page.read_text()
    if BEGIN not in text or END not in text:
        sys.exit(f"{page}: no markers for the table")
    before, rest = text.split(BEGIN, 1)
    page.write_text(f"{before}{BEGIN}\n\n{table}\n{END}{rest.split(END, 1)[1]}")
    page.with_name("relayouts.svg").write_text(plot)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="TesseraRelayoutBenchmarks")
    parser.add_argument("--cases", default=".", help="pattern of names")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--min-time", type=float, default=0.05,
                        help="seconds of a repetition")
    parser.add_argument("--page", type=pathlib.Path,
                        help="the page to write the table into")
    parser.add_argument("--plot", type=pathlib.Path, help="an SVG to write")
    args = parser.parse_args()
    pattern = args.cases if "/" in args.cases else f"({args.cases}).*/"
    cases = read_cases()
    times, rates = measure(args.program, pattern, args.repetitions,
                           args.min_time)
    table = make_table(cases, times, rates)
    plot = make_plot(cases, times)
    print(table, end="")
    if args.plot:
        args.plot.write_text(plot)
    if args.page:
        write_page(args.page, table, plot)


if __name__ == "__main__":
    main()
