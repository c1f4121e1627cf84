"""How much the tests do: what CI has time for, or with AURORA_THOROUGH=1 (`make test-thorough`) all that they can."""

import os
import random

__all__ = ["PROFILE", "THOROUGH", "draw_chance", "examples"]

THOROUGH = os.environ.get("AURORA_THOROUGH") == "1"
# Of Hypothesis.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "thorough" if THOROUGH else "quick")


def examples(quick: int, thorough: int) -> int:
    """How many generated inputs a test has that needs more, or fewer, than others."""
    return quick if PROFILE == "quick" else thorough


def draw_chance() -> random.Random:
    """For moments at which something is killed: others in each run. A test that fails shows its AURORA_SEED."""
    seed = int(os.environ.get("AURORA_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"AURORA_SEED={seed}")
    return random.Random(seed)
