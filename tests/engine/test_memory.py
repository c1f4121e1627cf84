"""Memory that a worker frees is there for the next train."""

import platform
import subprocess
import sys

import pytest

# How many pages the system has to bring for memory that was used, and freed, a moment ago.
AGAIN = """
import resource
import numpy as np
from aurora.engine.spark.memory import keep_freed_memory

if {keeps}:
    keep_freed_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

np.full(1 << 23, 1)
before = faults()
np.full(1 << 23, 1)
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are those of glibc")
def test_what_was_freed_need_not_be_fetched_again() -> None:
    found = {}
    for keeps in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", AGAIN.format(keeps=keeps)], capture_output=True, text=True, check=True
        )
        found[keeps] = int(done.stdout)
    assert found[True] < 8 < found[False]
