"""How much the tests do: what CI has time for, or with AURORA_THOROUGH=1 (`make test-thorough`) all that they can."""

import os

__all__ = ["PROFILE", "THOROUGH", "examples"]

THOROUGH = os.environ.get("AURORA_THOROUGH") == "1"
# Of Hypothesis.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "thorough" if THOROUGH else "quick")


def examples(quick: int, thorough: int) -> int:
    """How many generated inputs a test has that needs more, or fewer, than others."""
    return quick if PROFILE == "quick" else thorough
