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
    from aurora.algebra.state.groups import Groups
    from aurora.algebra.state.state import State
    from aurora.algebra.state.turn import Moment, Turn
    from aurora.algebra.tuples.schema import Schema
    from aurora.algebra.tuples.train import Train
    from aurora.algebra.user import caused
    from aurora.algebra.windows.reducer import WindowFunction
    from aurora.engine.columns import columns
    from aurora.engine.controls import Controls
    from aurora.engine.result import Result
    from aurora.engine.settings import Settings
    from aurora.engine.sinks.encode import json_lines
    from aurora.engine.sinks.rows import Rows
    from aurora.engine.sinks.sink import Interrupted, Sink, StagingSink
    from aurora.engine.sinks.text import TextSink
    from aurora.engine.sources.in_memory.memory import Memory
    from aurora.engine.sources.paced import Paced
    from aurora.engine.sources.source import Cursor, Feed, Opening, Piece, Portion, Reject, Source
    from aurora.engine.statistics import BatchReport, Statistics
    from aurora.errors import AuroraError
    from aurora.history.dataframe import to_dataframe
    from aurora.history.frame import Frame
    from aurora.history.prepare import prepare_stored
    from aurora.history.running import Running, run, start
    from aurora.network.network import Network, Stream
    from aurora.network.text import from_text, read_network, to_text, write_network

__version__ = "0.3.0.dev0"

__all__ = [
    "AuroraError",
    "BatchReport",
    "Controls",
    "Cursor",
    "Feed",
    "Frame",
    "Groups",
    "Interrupted",
    "Memory",
    "Moment",
    "Network",
    "Opening",
    "Paced",
    "Piece",
    "Portion",
    "Reject",
    "Result",
    "Rows",
    "Running",
    "Schema",
    "Settings",
    "Sink",
    "Source",
    "StagingSink",
    "State",
    "Statistics",
    "Stream",
    "TextSink",
    "Train",
    "Turn",
    "WindowFunction",
    "caused",
    "columns",
    "from_text",
    "json_lines",
    "prepare_stored",
    "read_network",
    "run",
    "start",
    "to_dataframe",
    "to_text",
    "write_network",
]

# Workers load the algebra alone, not Spark and the parser: each name is imported when it is first asked for.
_HOMES = {
    "AuroraError": "aurora.errors",
    "BatchReport": "aurora.engine.statistics",
    "Controls": "aurora.engine.controls",
    "Cursor": "aurora.engine.sources.source",
    "Feed": "aurora.engine.sources.source",
    "Frame": "aurora.history.frame",
    "Groups": "aurora.algebra.state.groups",
    "Interrupted": "aurora.engine.sinks.sink",
    "Memory": "aurora.engine.sources.in_memory.memory",
    "Moment": "aurora.algebra.state.turn",
    "Network": "aurora.network.network",
    "Opening": "aurora.engine.sources.source",
    "Paced": "aurora.engine.sources.paced",
    "Piece": "aurora.engine.sources.source",
    "Portion": "aurora.engine.sources.source",
    "Reject": "aurora.engine.sources.source",
    "Result": "aurora.engine.result",
    "Rows": "aurora.engine.sinks.rows",
    "Running": "aurora.history.running",
    "Schema": "aurora.algebra.tuples.schema",
    "Settings": "aurora.engine.settings",
    "Sink": "aurora.engine.sinks.sink",
    "Source": "aurora.engine.sources.source",
    "StagingSink": "aurora.engine.sinks.sink",
    "State": "aurora.algebra.state.state",
    "Statistics": "aurora.engine.statistics",
    "Stream": "aurora.network.network",
    "TextSink": "aurora.engine.sinks.text",
    "Train": "aurora.algebra.tuples.train",
    "Turn": "aurora.algebra.state.turn",
    "WindowFunction": "aurora.algebra.windows.reducer",
    "caused": "aurora.algebra.user",
    "columns": "aurora.engine.columns",
    "from_text": "aurora.network.text",
    "json_lines": "aurora.engine.sinks.encode",
    "prepare_stored": "aurora.history.prepare",
    "read_network": "aurora.network.text",
    "run": "aurora.history.running",
    "start": "aurora.history.running",
    "to_dataframe": "aurora.history.dataframe",
    "to_text": "aurora.network.text",
    "write_network": "aurora.network.text",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'aurora' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
