"""Aurora on Spark: a stream data manager.

>>> from aurora import Memory, Network, run
>>> net = Network("border watch")
>>> reports = net.input("reports", "Sid int, Time int, Pos int")
>>> over = reports.filter("Pos >= 30", name="over")
>>> net.output("alarms", over)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aurora.algebra.reduce import WindowFunction
    from aurora.algebra.schema import Schema
    from aurora.algebra.train import Train
    from aurora.algebra.turn import Moment, State, Turn
    from aurora.algebra.user import caused
    from aurora.engine.columns import columns
    from aurora.engine.run import Result, Settings, run
    from aurora.engine.sources.memory import Memory
    from aurora.errors import AuroraError
    from aurora.network.network import Network, Stream
    from aurora.network.text import from_text, read_network, to_text, write_network

__all__ = [
    "AuroraError",
    "Memory",
    "Moment",
    "Network",
    "Result",
    "Schema",
    "Settings",
    "State",
    "Stream",
    "Train",
    "Turn",
    "WindowFunction",
    "caused",
    "columns",
    "from_text",
    "read_network",
    "run",
    "to_text",
    "write_network",
]

# Workers load the algebra alone, not Spark and the parser: each name is imported when it is first asked for.
_HOMES = {
    "AuroraError": "aurora.errors",
    "Memory": "aurora.engine.sources.memory",
    "Moment": "aurora.algebra.turn",
    "Network": "aurora.network.network",
    "Result": "aurora.engine.run",
    "Schema": "aurora.algebra.schema",
    "Settings": "aurora.engine.run",
    "State": "aurora.algebra.turn",
    "Stream": "aurora.network.network",
    "Train": "aurora.algebra.train",
    "Turn": "aurora.algebra.turn",
    "WindowFunction": "aurora.algebra.reduce",
    "caused": "aurora.algebra.user",
    "columns": "aurora.engine.columns",
    "from_text": "aurora.network.text",
    "read_network": "aurora.network.text",
    "run": "aurora.engine.run",
    "to_text": "aurora.network.text",
    "write_network": "aurora.network.text",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'aurora' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
