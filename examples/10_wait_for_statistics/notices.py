"""Kernels that share the relation `statistics`: the average speed of each segment and minute."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aurora import Train, Turn, caused

FIELDS = ["Car", "Segment", "Minute", "Speed", "AvgSpeed"]


def keep(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    """Adds the statistics to the relation, and says which ones are in it now."""
    new = inputs["statistics"]
    if len(new) == 0:
        return {}
    stored = turn.relations.get("statistics")
    turn.relations.put("statistics", new.rows if stored is None else pa.concat_batches([stored, new.rows]))
    return {"kept": caused(new, new.rows.select(["Segment", "Minute"]), np.arange(len(new)))}


def notify(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    """Tells each car the average speed of its segment in the minute of its report."""
    reports = inputs["reports"]
    if len(reports) == 0:
        return {}
    statistics = turn.relations.get("statistics")
    assert statistics is not None, "a report has left the wait box before its statistics came"
    asked = reports.rows.to_pandas()
    rows = asked.merge(statistics.to_pandas(), on=["Segment", "Minute"], how="left")[FIELDS]
    batch = pa.RecordBatch.from_pandas(rows, preserve_index=False)
    return {"notices": caused(reports, batch, np.arange(len(reports)))}
