"""Two kernels that share the relation `accounts`: its rows say which balance a car has from which arrival on.

A kernel gets whole trains, so the tolls of a train are booked before its requests are answered. A request must see
the tolls that arrived before it and no others, or the answer would depend on how the stream is cut into batches:
hence the arrival numbers in the relation.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pyarrow as pa

from aurora import Train, Turn, caused

EMPTY = pd.DataFrame(
    {"Car": np.empty(0, np.int32), "Since": np.empty(0, np.int64), "Balance": np.empty(0, np.int64)}
)


def accounts(turn: Turn) -> pd.DataFrame:
    stored = turn.relations.get("accounts")
    return EMPTY if stored is None else stored.to_pandas()


def charge(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    tolls = inputs["tolls"]
    if len(tolls) == 0:
        return {}
    # Of earlier trains, only the last balance of each car is still needed.
    before = accounts(turn).drop_duplicates("Car", keep="last")
    booked = tolls.rows.to_pandas().assign(Since=tolls.keys[0])
    opening = booked["Car"].map(before.set_index("Car")["Balance"]).fillna(0).astype(np.int64)
    booked["Balance"] = opening + booked.groupby("Car")["Toll"].cumsum()
    relation = pd.concat([before, booked[["Car", "Since", "Balance"]]])
    turn.relations.put("accounts", pa.RecordBatch.from_pandas(relation, preserve_index=False))
    rows = pa.RecordBatch.from_pandas(booked[["Car", "Time", "Balance"]], preserve_index=False)
    return {"charged": caused(tolls, rows, np.arange(len(tolls)))}


def balance(inputs: Mapping[str, Train], turn: Turn) -> dict[str, Train]:
    requests = inputs["requests"]
    if len(requests) == 0:
        return {}
    asked = requests.rows.to_pandas().assign(Since=requests.keys[0])
    found = pd.merge_asof(asked, accounts(turn).sort_values("Since"), on="Since", by="Car")
    found["Balance"] = found["Balance"].fillna(0).astype(np.int64)
    rows = pa.RecordBatch.from_pandas(found[["Query", "Car", "Time", "Balance"]], preserve_index=False)
    return {"answers": caused(requests, rows, np.arange(len(requests)))}
