"""A box whose kernel its user writes, with named state, several outputs, and relations shared with other boxes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aurora.algebra.box.choice import Choice
from aurora.algebra.box.declared import as_declared
from aurora.algebra.box.keeps import Declared, check_reads, declare, keeps_declared
from aurora.algebra.box.needs import Needs
from aurora.algebra.box.operator import Keeps, Partition, Traits
from aurora.algebra.expressions.tree import Field, Node
from aurora.algebra.ordering.progress import Progress, keep_progress
from aurora.algebra.state.turn import Turn
from aurora.algebra.tuples.arrays import find_runs
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.sorting import stable_order
from aurora.algebra.tuples.train import LAST, Train, at_the_end
from aurora.errors import AuroraError

__all__ = ["Kernel", "UserBox", "caused"]

# Gets a train per input, by name, in order of arrival; gives a train per output, made with `caused`.
Kernel = Callable[[Mapping[str, Train], Turn], Mapping[str, Train]]


def caused(train: Train, rows: pa.RecordBatch, cause: npt.NDArray[np.integer]) -> Train:
    """An output train: row `cause` of the input train caused each of its rows.

    A cause of `len(train)` is the end of the input. Rows of one cause stay in the order given here.
    """
    order = stable_order(cause)
    _, nth_run = find_runs(cause[order])
    starts = np.searchsorted(nth_run, nth_run, side="left")
    nth = np.empty(len(cause), np.int64)
    nth[order] = np.arange(len(cause)) - starts
    arrived, keys = train.arrived, train.keys
    if len(cause) and cause[order[-1]] == len(train):
        arrived = np.append(arrived, arrived[-1] if len(arrived) else 0)
        keys = np.concatenate([keys, at_the_end(train.depth, 1)], axis=1)
    return Train(rows, arrived.take(cause), np.concatenate([keys.take(cause, axis=1), nth[None]]))


@dataclass(frozen=True)
class UserBox:
    """`key` names, for each input, the fields that decide which tuples meet; without any, all of them do.

    An input whose key is None is seen whole by every bucket. A stateless box has no key: each of its tuples is
    answered by itself, wherever it is.

    `kept` are the fields of the key that an output still holds, unchanged; what is not declared is not relied upon.

    A box that `commutes` names the fields that its kernel reads: it answers each tuple by itself, can take any, and
    may change places with its neighbours.

    A relation is a named Arrow batch of the box's key, or several called name/part, kept in `turn.relations`; boxes
    with one key may share it, and see each other's updates in the order of the network.

    >>> def running_count(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    ...     train, known = inputs["reports"], turn.state.get("seen")
    ...     seen = 0 if known is None else known["n"][0].as_py()
    ...     numbers = np.arange(seen + 1, seen + 1 + len(train))
    ...     turn.state.put("seen", pa.record_batch({"n": [seen + len(train)]}))
    ...     return {"1": caused(train, pa.record_batch({"n": numbers}), np.arange(len(train)))}
    >>> box = UserBox.of(running_count, {"reports": Schema.parse("Pos int")}, {"1": Schema.parse("n bigint")}, {})
    >>> rows = pa.record_batch({"Pos": [30, 31]}, Schema.parse("Pos int").arrow())
    >>> turn = Turn()
    >>> [box.call((Train(rows, np.zeros(2, int), np.array([keys])),), turn)["1"].rows["n"].to_pylist()
    ...  for keys in ([0, 1], [2, 3])]
    [[1, 2], [3, 4]]
    """

    kernel: Kernel
    inputs: tuple[tuple[str, Schema], ...]
    results: tuple[tuple[str, Schema], ...]
    key: tuple[tuple[str, ...] | None, ...]
    relations: tuple[str, ...] = ()
    stateless: bool = False
    kept: Declared = ()
    # Boxes that do the same are equal, whether they may be moved or not.
    commutes: tuple[str, ...] | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        inputs: Mapping[str, Schema],
        outputs: Mapping[str, Schema],
        key: Mapping[str, tuple[str, ...] | None],
        relations: tuple[str, ...] = (),
        stateless: bool = False,
        where: str = "user box",
        keeps: Mapping[str, Sequence[str]] | Sequence[str] = (),
        commutes: Sequence[str] | None = None,
    ) -> "UserBox":
        if not outputs:
            raise AuroraError(f"{where}: needs at least one output")
        for name, schema in inputs.items():
            for own in key.get(name, ()) or ():
                if own not in schema:
                    raise AuroraError(
                        f"{where}: key of input {name}: no field {own}; fields are {', '.join(schema.names)}"
                    )
        keys = tuple(key.get(name, ()) for name in inputs)
        lengths = {len(fields) for fields in keys if fields is not None}
        if len(lengths) > 1:
            raise AuroraError(f"{where}: the keys of its inputs have different lengths")
        if not lengths:
            raise AuroraError(f"{where}: at least one input needs a key; the others may have null")
        if stateless and (key or relations):
            raise AuroraError(f"{where}: a stateless box has neither key nor relations")
        kept = declare(keeps, inputs, outputs, None if stateless else keys, where)
        reads = None if commutes is None else check_reads(commutes, inputs, stateless, where)
        return cls(
            kernel, tuple(inputs.items()), tuple(outputs.items()), keys, relations, stateless, kept, reads
        )

    @property
    def outputs(self) -> dict[str, Schema]:
        return dict(self.results)

    @property
    def partition(self) -> Partition | None:
        return None if self.stateless else self.key

    @property
    def traits(self) -> Traits:
        return Traits(
            relations=self.relations,
            # Nobody but its user knows how long a kernel remembers a tuple.
            lasting=frozenset(() if self.stateless else range(len(self.inputs))),
            functions=(self.kernel,),
            by_itself=self.commutes is not None,
            choice=self._choice(),
        )

    def _choice(self) -> Choice | None:
        """A box whose tuples are those that it gets, with all their fields, chooses among them."""
        schema, (port, given) = self.inputs[0][1], self.results[0]
        kept = dict(self.kept).get(port, ())
        if self.commutes is None or len(self.results) > 1 or given != schema or set(kept) != set(schema):
            return None
        return Choice(frozenset(self.commutes), self._moved)

    def _moved(self, schema: Schema, fields: Mapping[str, Node]) -> "UserBox | None":
        """The kernel is the user's: it finds the fields that it reads under their names, or it cannot be there."""
        ((name, own),), ((port, _),) = self.inputs, self.results
        for read in self.commutes or ():
            found = fields.get(read)
            if not isinstance(found, Field) or found.name != read or schema.get(read) != own[read]:
                return None
        kept = ((port, schema.names),)
        return replace(self, inputs=((name, schema),), results=((port, schema),), kept=kept)

    def keeps(self, port: str) -> Keeps:
        return keeps_declared(self.kept, port, self.inputs, self.partition)

    def needs(self, given: Needs | None) -> tuple[Needs | None, ...]:
        # A kernel may look at everything.
        return (None,) * len(self.inputs)

    def progress(
        self, port: str, inputs: tuple[Mapping[str, Progress], ...], clocks: tuple[Progress, ...]
    ) -> Mapping[str, Progress]:
        return keep_progress(self.keeps(port), inputs) if self.partition is None else {}

    def depth(self, inputs: tuple[int, ...]) -> int:
        return max(inputs) + (2 if len(inputs) > 1 else 1)

    def call(self, inputs: tuple[Train, ...], turn: Turn) -> dict[str, Train]:
        depth = max(train.depth for train in inputs)
        if len(inputs) > 1:
            inputs = tuple(train.at_input(number, depth) for number, train in enumerate(inputs))
            depth += 1
        named = dict(zip((name for name, _ in self.inputs), inputs, strict=True))
        guard = partial(_check_declared, self.relations)
        declared = replace(turn, relations=turn.relations.guarded(guard))
        if self.stateless:
            declared = replace(declared, state=turn.state.guarded(_refuse))
        found = self.kernel(named, declared)
        self._check_found(found)
        outputs = {}
        for port, schema in self.results:
            train = found.get(port)
            if train is None:
                outputs[port] = Train.empty(schema.arrow(), depth + 1)
                continue
            if train.rows.schema.names != list(schema.names):
                raise AuroraError(
                    f"output {port} of a user's kernel has the fields {', '.join(train.rows.schema.names)}; "
                    f"declared are {', '.join(schema.names)}"
                )
            columns = zip(schema.items(), train.rows.columns, strict=True)
            rows = pa.RecordBatch.from_arrays(
                [as_declared(column, kind, port, name) for (name, kind), column in columns],
                schema=schema.arrow(),
            )
            # A train that was merely passed on has no line yet that orders the rows of one cause.
            result = train.with_rows(rows).deepen(depth + 1)
            outputs[port] = (_by_fields_at_the_end(result) if any(self.key) else result).arrange()
        return outputs

    def _check_found(self, found: Mapping[str, Train]) -> None:
        """Raises a fault that tells the author of a kernel what it gave."""
        ports = [port for port, _ in self.results]
        if not isinstance(found, Mapping):
            raise AuroraError(
                f"a user's kernel returned {type(found).__name__}; return a mapping with a train for each of its "
                f"outputs: {', '.join(ports)}"
            )
        for port, train in found.items():
            if port not in ports:
                raise AuroraError(
                    f"a user's kernel returned the output {port}, which is not declared; it has {', '.join(ports)}"
                )
            if not isinstance(train, Train):
                raise AuroraError(
                    f"a user's kernel returned {type(train).__name__} for output {port}; make a train with caused()"
                )


def _by_fields_at_the_end(train: Train) -> Train:
    """Rows that the end brings forth in several buckets, which do not know of each other: by their fields."""
    ends = train.keys[0] == LAST
    if not ends.any():
        return train
    keys = train.keys.copy()
    keys[-1, ends] = 0
    return Train(train.rows, train.arrived, keys)


def _refuse(name: str) -> None:
    """The guard of a stateless box."""
    raise AuroraError(f"a user's kernel uses state {name}, but its box is stateless; give it a key")


def _check_declared(names: tuple[str, ...], name: str) -> None:
    """Planning relies on the list of relations being complete."""
    if name.partition("/")[0] not in names:
        declared = ", ".join(names) or "none"
        raise AuroraError(f"a user's kernel uses relation {name}; declared are: {declared}")
