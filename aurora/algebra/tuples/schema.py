"""The schema of a stream: its fields, in order, each with its type."""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from aurora.algebra.tuples.required import drop_not_null, required_paths, set_not_null
from aurora.algebra.tuples.types import parse_fields, quoted, type_name
from aurora.characters import check_characters
from aurora.errors import AuroraError, did_you_mean

__all__ = ["Schema"]


class Schema(Mapping[str, pa.DataType]):
    """An immutable, hashable, ordered mapping of field names to types.

    `required` are the fields, by their path, that a source must have; they mean nothing for the rows of a stream.

    >>> schema = Schema.parse("Sid int, Time int, `#` bigint")
    >>> schema.names
    ('Sid', 'Time', '#')
    >>> str(schema)
    'Sid int, Time int, `#` bigint'
    """

    __slots__ = ("_arrow", "_hash", "_types", "required")
    _types: dict[str, pa.DataType]
    _hash: int
    _arrow: pa.Schema
    required: frozenset[tuple[str, ...]]

    def __init__(
        self, fields: Iterable[tuple[str, pa.DataType]], required: Iterable[tuple[str, ...]] = ()
    ) -> None:
        types: dict[str, pa.DataType] = {}
        for name, arrow in fields:
            if not isinstance(name, str) or not name:
                raise AuroraError(f"a field needs a name, found {name!r}: give each field one")
            check_characters(name, "schema")
            if name in types:
                raise AuroraError(f"field '{name}' appears twice in the schema: rename one of the two")
            try:
                type_name(arrow)
            except AuroraError as fault:
                raise AuroraError(f"field '{name}': {fault}") from None
            types[name] = arrow
        self._types = types
        self.required = frozenset(required)
        self._hash = hash(tuple(types.items()))
        # Every turn of every box asks for it.
        self._arrow = pa.schema(list(types.items()))

    @classmethod
    def parse(cls, text: str) -> "Schema":
        """The schema of "name type, name struct<name: type>"; a name with other characters goes in backquotes."""
        fields = parse_fields(text)
        if not fields:
            raise AuroraError("the schema is empty: write it as 'name type, name type'")
        return cls(
            ((field.name, drop_not_null(field.type)) for field in fields),
            (path for field in fields for path in required_paths(field)),
        )

    @classmethod
    def of(cls, types: Mapping[str, pa.DataType]) -> "Schema":
        """The schema with these types by name."""
        return cls(types.items())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(self._types)

    def arrow(self) -> pa.Schema:
        """The same fields as a pyarrow Schema."""
        return self._arrow

    def select(self, names: Iterable[str]) -> "Schema":
        """The schema of those fields, in the order in which they are named."""
        chosen = list(names)
        return Schema(
            ((name, self[name]) for name in chosen), (path for path in self.required if path[0] in chosen)
        )

    def __getitem__(self, name: str) -> pa.DataType:
        try:
            return self._types[name]
        except KeyError:
            near = did_you_mean(name, self._types)
            raise AuroraError(
                f"unknown field '{name}'{near}: the fields are {', '.join(self._types)}"
            ) from None

    def get(self, name: str, default: pa.DataType | None = None) -> pa.DataType | None:
        """The type of a field, or `default` if there is no such field."""
        return self._types.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def __eq__(self, other: object) -> bool:
        # Order counts: two streams with the same fields in another order are not alike.
        return isinstance(other, Schema) and list(self._types.items()) == list(other._types.items())

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        fields = [set_not_null(pa.field(name, arrow), self.required) for name, arrow in self._types.items()]
        return ", ".join(
            f"{quoted(field.name)} {type_name(field.type)}{'' if field.nullable else ' NOT NULL'}"
            for field in fields
        )

    def __repr__(self) -> str:
        return f"Schema.parse({str(self)!r})"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td style='text-align:left'>{escape(type_name(kind))}"
            "</td></tr>"
            for name, kind in self._types.items()
        )
        return f"<table><tr><th>field</th><th>type</th></tr>{rows}</table>"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _from_text, (str(self),)


def _from_text(text: str) -> Schema:
    return Schema.parse(text) if text else Schema(())
