"""Rows for the benchmarks, made in large pieces."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

__all__ = ["readings"]


def readings(
    path: Path, rows: int, groups: int, seed: int = 1, per_second: int = 1000, jitter: int = 2
) -> Path:
    """k,t,v: `groups` keys at random, t rising with a little disorder, v from 0 to 99; one CSV file, no header."""
    if path.exists():
        return path
    chance = np.random.default_rng(seed)
    partial = path.with_suffix(".partial")
    options = pyarrow.csv.WriteOptions(include_header=False)
    with partial.open("wb") as file:
        for start in range(0, rows, 1_000_000):
            number = np.arange(start, min(start + 1_000_000, rows))
            batch = pa.record_batch(
                {
                    "k": chance.integers(0, groups, len(number)),
                    "t": number // per_second - chance.integers(0, jitter + 1, len(number)),
                    "v": chance.integers(0, 100, len(number)),
                }
            )
            pyarrow.csv.write_csv(batch, file, options)
    return partial.rename(path)
