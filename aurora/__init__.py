"""Aurora on Spark: a stream data manager.

>>> from aurora import Memory, Network, run
>>> net = Network("border watch")
>>> reports = net.input("reports", "Sid int, Time int, Pos int")
>>> over = reports.filter("Pos >= 30", name="over")
>>> net.output("alarms", over)
"""

from aurora.algebra.reduce import WindowFunction
from aurora.algebra.schema import Schema
from aurora.algebra.train import Train
from aurora.algebra.turn import Moment, State, Turn
from aurora.algebra.user import caused
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
    "from_text",
    "read_network",
    "run",
    "to_text",
    "write_network",
]
