"""Tables that stay where they are: of them only the rows are fetched whose keys the tuples at hand ask for."""

from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from aurora.algebra.ordering.pairs import are_complete
from aurora.algebra.tuples.arrays import encode, first_places
from aurora.algebra.tuples.train import Ints

__all__ = ["Pulled", "fetch_partners"]


@runtime_checkable
class Pulled(Protocol):
    """Rows that are fetched by the fields of their storage key."""

    @property
    def key(self) -> tuple[str, ...]: ...

    def fetch(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The rows that have one of these keys, all of them and perhaps some others, and the place of each in the set.

        The columns of `keys` are those of the storage key, without nulls; whole numbers may be of another width.
        """
        ...


def fetch_partners(
    pulled: Pulled, rows: pa.RecordBatch, asked: dict[str, str]
) -> tuple[pa.RecordBatch, Ints]:
    """Those rows of a set that tuples can meet; `asked` names the field of the tuples that each field of the set must
    equal."""
    fields = [asked[name] for name in pulled.key]
    complete = np.flatnonzero(are_complete(rows, fields))
    columns = [rows.column(name) for name in fields]
    if len(complete) < rows.num_rows:
        columns = [column.take(pa.array(complete)) for column in columns]
    if len(complete):
        chosen = pa.array(first_places(encode(columns)))
        columns = [column.take(chosen) for column in columns]
    return pulled.fetch(pa.RecordBatch.from_arrays(columns, names=list(pulled.key)))
