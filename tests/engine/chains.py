"""Chains of boxes for the tests of what rearranges them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from aurora import Network, Train, Turn, caused, from_text
from aurora.algebra.box.moving import Chain
from aurora.engine.plan.plan import plan_network
from aurora.engine.plan.rewriting import find_chains

__all__ = ["SCHEMA", "chain_of", "even", "network_of", "shown", "twice"]

SCHEMA = "g int, T int, v bigint, w string"


def even(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Those whose v is even, whatever other fields there are."""
    (train,) = inputs.values()
    kept = pc.fill_null(pc.equal(pc.bit_wise_and(train.rows["v"], 1), 0), False)
    return {"1": train.filter(kept.to_numpy(zero_copy_only=False))}


def twice(inputs: Mapping[str, Train], turn: Turn) -> Mapping[str, Train]:
    """Each tuple as often as its g says, up to two times, with its number."""
    (train,) = inputs.values()
    times = np.minimum(np.asarray(pc.fill_null(train.rows["g"], 1)), 2)
    cause = np.repeat(np.arange(len(train)), times)
    rows = train.rows.take(cause).append_column("n", pc.cast(cause * 0 + 7, "int32"))
    return {"1": caused(train, rows, cause)}


def network_of(boxes: str, outputs: str = "{out: z}", more: str = "") -> Network:
    return from_text(
        f'network: n\ninputs:\n  r: {{schema: "{SCHEMA}"}}\n  table: {{schema: "g int, name string", static: true}}\n'
        f"boxes:\n{boxes}\noutputs: {outputs}\n{more}"
    )


def chain_of(boxes: str) -> Chain:
    """The only chain of a network whose boxes are given line by line."""
    (chain,) = find_chains(plan_network(network_of(boxes)))
    return chain


def shown(chain: Chain) -> list[tuple[str, Any, str]]:
    """What is compared of chains: names, what the boxes do, and the ports that are read."""
    return [(link.name, _parts(link.operator), link.port) for link in chain.links]


def _parts(operator: Any) -> Any:
    """Expressions by their trees: a text may be written in several ways."""
    if hasattr(operator, "predicates"):
        return operator.input, [each.tree for each in operator.predicates]
    if hasattr(operator, "fields"):
        return operator.input, [(name, each.tree) for name, each in operator.fields]
    return operator
