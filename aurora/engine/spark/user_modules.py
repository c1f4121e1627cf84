"""Sends the functions of the user to the workers by value: their modules lie beside the network, not everywhere."""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark import cloudpickle

from aurora.engine.fault_places import is_installed
from aurora.engine.sources.paced import Wrapping
from aurora.network.kernels import Made
from aurora.network.network import Network

__all__ = ["ship_functions"]


def ship_functions(network: Network, bound: Iterable[object] = ()) -> None:
    """Marks the modules of user-defined functions, and those beside them, as ones that travel with the job.

    `bound` are the sources and sinks, which may be the user's own, too.
    """
    folders = set()
    for function in [*_functions(network), *map(_kind, bound)]:
        file = getattr(sys.modules.get(getattr(function, "__module__", "")), "__file__", None)
        if file is not None and not is_installed(file):
            folders.add(os.path.dirname(os.path.abspath(file)))
    # Without any, thousands of modules need no look.
    for name, module in list(sys.modules.items()) if folders else ():
        file = getattr(module, "__file__", None)
        if name != "__main__" and file and os.path.dirname(os.path.abspath(file)) in folders:
            cloudpickle.register_pickle_by_value(module)


def _functions(network: Network) -> Iterator[Any]:
    for box in network.boxes.values():
        for function in box.operator.traits.functions:
            yield function.factory if isinstance(function, Made) else function


def _kind(bound: object) -> type:
    """The class of a source or sink, whatever stands around it."""
    while isinstance(bound, Wrapping):
        bound = bound.address
    return type(bound)
