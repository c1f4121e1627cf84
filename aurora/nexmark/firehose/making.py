"""Any range of events: as numbers, from which every format is written."""

import numpy as np

from aurora.nexmark.firehose.facts import COLUMNS, Facts, recipe
from aurora.nexmark.firehose.settings import Settings
from aurora.nexmark.firehose.standard import fill_standard

__all__ = ["facts_of"]


def facts_of(settings: Settings, start: int, stop: int) -> Facts:
    """The events from number `start` up to, not including, `stop`."""
    facts = np.zeros((stop - start, COLUMNS), np.int64)
    fill_standard(recipe(settings), start, facts)
    return facts
