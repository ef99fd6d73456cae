"""Prints what failed in a run of lit, and as the last line the counts.

usage: summarize_tests.py RESULTS.json   (of `lit --output`); exit 1 on failures
"""

import json
import sys

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
SKIPPED = {"UNSUPPORTED", "SKIPPED"}


def main(path):
    try:
        with open(path) as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError, KeyError) as error:
        print("the run of the tests left no results: %s" % error)
        tests = [{"code": "UNRESOLVED", "name": "lit", "elapsed": 0}]

    # What a filter leaves out was not asked for.
    tests = [test for test in tests if test["code"] != "EXCLUDED"]
    # gtest cases of one program carry no time of their own.
    slowest = sorted(tests, key=lambda test: -(test["elapsed"] or 0))[:5]
    print("\nslowest:")
    for test in slowest:
        print("  %7.1f s  %s" % (test["elapsed"] or 0, test["name"]))

    passed = sum(test["code"] in PASSED for test in tests)
    skipped = [test for test in tests if test["code"] in SKIPPED]
    failed = [test for test in tests if test["code"] not in PASSED | SKIPPED]
    for title, group in [("skipped", skipped), ("failed", failed)]:
        if group:
            print("%s:" % title)
        for test in group:
            print("  %-11s %s" % (test["code"], test["name"]))
    print("%d passed, %d failed, %d skipped" % (passed, len(failed), len(skipped)))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
