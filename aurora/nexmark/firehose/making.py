"""Any range of events, in any form."""

import numpy as np
import pyarrow as pa

from aurora.errors import AuroraError
from aurora.nexmark.firehose.draft import fill_draft
from aurora.nexmark.firehose.facts import COLUMNS, Facts, recipe
from aurora.nexmark.firehose.fields import arrow_schema
from aurora.nexmark.firehose.rows import to_rows
from aurora.nexmark.firehose.settings import Settings
from aurora.nexmark.firehose.standard import fill_standard

__all__ = ["events", "facts_of"]


def facts_of(settings: Settings, start: int, stop: int) -> Facts:
    """The numbers of the events from `start` up to, not including, `stop`: what all formats are written from."""
    if not 0 <= start <= stop:
        raise AuroraError(f"there are no events {start} to {stop}: give 0 or more, the smaller first")
    facts = np.zeros((COLUMNS, stop - start), np.int64)
    fill = fill_draft if settings.profile == "draft" else fill_standard
    fill(recipe(settings), start, facts)
    return facts


def events(settings: Settings, start: int, stop: int, schema: pa.Schema | None = None) -> pa.RecordBatch:
    """The events from number `start` up to, not including, `stop`; of a schema only what it has."""
    return to_rows(facts_of(settings, start, stop), schema or arrow_schema(settings.profile))
