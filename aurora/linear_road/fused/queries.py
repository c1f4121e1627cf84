"""Linear Road, edition of 2004, in a few boxes whose kernels are written by hand."""

from aurora import Network
from aurora.linear_road.fused import accounts, cars, segments
from aurora.linear_road.fused.expenditure import EXPENDITURES, expenditure
from aurora.linear_road.network import past
from aurora.linear_road.network.prepared import Prepared
from aurora.linear_road.network.queries import OUTPUTS
from aurora.linear_road.network.traffic import read_traffic
from aurora.linear_road.records import Replication

__all__ = ["fused_linear_road"]


def fused_linear_road(prepared: Prepared | None = None, copies: Replication | None = None) -> Network:
    """All queries of the benchmark; without prepared histories those of the past know of no traffic and no tolls.

    `copies` are those of each tuple, for load.
    """
    prepared = prepared or Prepared()
    network = Network("linear road, fused")
    traffic = read_traffic(network, copies)
    kinds = traffic.filter("Type = 0", "Type = 2", "Type = 3", "Type = 4", name="kinds")

    with network.group("road"):
        reports = kinds.map(
            {name: name for name in ("Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos")},
            name="reports",
        )
        requests = kinds["2"].map({"Time": "Time", "VID": "VID", "QID": "QID"}, name="requests")
        moved = network.user(
            cars.cars,
            inputs={"reports": reports},
            outputs=cars.OUTPUTS,
            key={"reports": ["VID"]},
            relations=["trips", "left"],
            keeps={"entries": ["VID"], "stops": ["VID"]},
            name="cars",
        )
        quotes = network.user(
            segments.segments,
            inputs={"entries": moved["entries"], "speeds": moved["speeds"], "stops": moved["stops"]},
            outputs=segments.OUTPUTS,
            key={"entries": ["VID"], "speeds": None, "stops": None},
            relations=["statistics", "stopped", "quotes"],
            keeps=["VID"],
            name="segments",
        )
        told = quotes.filter("Lane <> 4", name="told")
        tolls = told.map({"VID": "VID", "Time": "Time", "Spd": "Lav", "Toll": "Toll"}, name="tolls")
        warned = told.filter("Accident >= 0", name="warned")
        alerts = warned.map({"Time": "Time", "VID": "VID", "Seg": "Accident"}, name="alerts")
        balances = network.user(
            accounts.accounts,
            inputs={"quotes": quotes, "requests": requests},
            outputs=accounts.OUTPUTS,
            key={"quotes": ["VID"], "requests": ["VID"]},
            relations=["accounts"],
            name="accounts",
        )

    with network.group("past"):
        expenditures = network.user(
            expenditure,
            with_=prepared.arguments(),
            inputs={"requests": kinds["3"]},
            outputs=EXPENDITURES,
            stateless=True,
            name="expenditure",
        )
        journeys = network.user(
            past.journeys,
            with_=prepared.arguments(),
            inputs={"requests": kinds["4"]},
            outputs=past.JOURNEYS,
            stateless=True,
            name="journeys",
        )

    for name, stream in zip(OUTPUTS, (tolls, alerts, balances, expenditures, journeys), strict=True):
        network.output(name, stream)
    return network
