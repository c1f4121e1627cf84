"""What every tuple of an input must satisfy: those that do not are rejected where they are read, with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from aurora.algebra.expressions import Expression
from aurora.algebra.tuples.python_values import python_value
from aurora.algebra.tuples.schema import Schema
from aurora.algebra.tuples.types import BOOLEAN, type_name
from aurora.characters import check_characters
from aurora.errors import AuroraError

__all__ = ["Check", "read_checks"]

# So much is shown of a value.
LONGEST = 100


@dataclass(frozen=True)
class Check:
    """A condition, and what is wrong with a tuple for which it is not true; null is not true."""

    reason: str
    condition: Expression

    def over(self, schema: Schema) -> "Check":
        """The same for tuples that have fewer fields."""
        return Check(self.reason, Expression.parse(self.condition.text, schema))

    def explain(self, row: pa.RecordBatch) -> str:
        """The reason, and what the condition has looked at, of a single row.

        >>> schema = Schema.parse("Type int, Spd int, Seg int")
        >>> check = Check("speed out of range", Expression.parse("Type <> 0 OR Spd <= 100", schema))
        >>> check.explain(pa.record_batch({"Type": [0], "Spd": [120], "Seg": [7]}, schema.arrow()))
        'speed out of range (Type 0, Spd 120)'
        """
        used = [name for name in row.schema.names if name in self.condition.fields]
        shown = [f"{name} {_shown(python_value(row.column(name)[0]))}" for name in used]
        return f"{self.reason} ({', '.join(shown)})" if shown else self.reason


def _shown(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + ".."


def read_checks(given: Any, schema: Schema, where: str) -> tuple[Check, ...]:
    """Checks out of a mapping of reasons to conditions."""
    if not isinstance(given, Mapping) or not given:
        raise AuroraError(
            f"{where}: check says what every tuple must satisfy, by the reason for which others are rejected: "
            f'{{"Spd out of range": "Spd BETWEEN 0 AND 100"}}, found {_found(given)}'
        )
    return tuple(_read(reason, text, schema, where) for reason, text in given.items())


def _read(reason: Any, text: Any, schema: Schema, where: str) -> Check:
    if not isinstance(reason, str) or not reason.strip() or "\n" in reason:
        raise AuroraError(f"{where}: the reason of a check is a line of text, found {reason!r}")
    check_characters(reason, f"{where}, check")
    here = f"{where}, check '{reason}'"
    if not isinstance(text, str):
        raise AuroraError(f"{here}: a condition is an expression such as Spd <= 100, found {text!r}")
    condition = Expression.parse(text, schema, here)
    if condition.type != BOOLEAN:
        raise AuroraError(
            f"{here}: '{condition.text}' is {type_name(condition.type)}; a condition is true or false, as Spd <= 100 is"
        )
    return Check(reason, condition)


def _found(given: Any) -> str:
    return "nothing" if not given else f"'{given}'"
