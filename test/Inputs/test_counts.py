"""How much a randomized test does, the same rule as unittests/TestCounts.h.

With TESSERA_FULL=1 in the environment a randomized test does its full number of
cases from a fresh seed, otherwise a tenth of them from a fixed one.
TESSERA_FEW=1 makes that a hundredth. TESSERA_SEED repeats the run that printed it.
"""

import os
import random


def is_full_test():
    return os.environ.get("TESSERA_FULL") == "1"


def is_few_test():
    return os.environ.get("TESSERA_FEW") == "1"


def test_count(full):
    """The number of cases to run, of `full` ones."""
    return full if is_full_test() else max(1, full // (100 if is_few_test() else 10))


def test_seed():
    """The seed of this process; print it on failure."""
    given = os.environ.setdefault(
        "TESSERA_SEED",
        str(random.SystemRandom().getrandbits(32)) if is_full_test() else "20260722",
    )
    return int(given)
