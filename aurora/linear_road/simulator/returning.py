"""Which trips one car makes: a tenth of the cars comes back for a second one, some on another expressway."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.simulator.direction import trips_name
from aurora.linear_road.simulator.settings import Settings
from aurora.linear_road.simulator.trips import random_stream

__all__ = ["Numbered", "number_cars"]

# Of a hundred cars ten make two trips, so of 110 trips ten are second ones.
SECOND_TRIPS = 1 / 11
ELSEWHERE = 0.2
LEAST_STAY, MOST_STAY = 300, 1800
# A car comes back in the tenth of the road where it left.
NEIGHBOURHOOD = 10

Ints = NDArray[np.int32]


class Numbered(NamedTuple):
    """VIDs by expressway and trip number (-1: no report is kept), cars first seen on each, cars that return."""

    vids: Ints
    cars: list[int]
    returning: int


class _Trips(NamedTuple):
    expressway: Ints
    direction: Ints
    number: Ints
    started: Ints
    ended: Ints
    entrance: Ints
    left_by: Ints


def _read_trips(settings: Settings, folder: Path) -> _Trips:
    tables = []
    for expressway in range(settings.expressways):
        for direction in (0, 1):
            table = np.load(folder / trips_name(expressway, direction))
            where = np.tile(np.array([[expressway], [direction]], np.int32), table.shape[1])
            tables.append(np.concatenate([where, table]))
    return _Trips(*np.concatenate(tables, axis=1))


def _by_spot(
    first_spots: Ints, first_order: Ints, second_spots: Ints, second_order: Ints
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The indices of both that belong to one spot, each in its order."""
    first = np.lexsort((first_order, first_spots))
    second = np.lexsort((second_order, second_spots))
    for spot in np.unique(first_spots):
        yield (
            first[slice(*np.searchsorted(first_spots[first], (spot, spot + 1)))],
            second[slice(*np.searchsorted(second_spots[second], (spot, spot + 1)))],
        )


def _second_trips(settings: Settings, trips: _Trips) -> NDArray[np.intp]:
    """Pairs of trips of one car, the first and the second.

    Trips are simulated without knowing their car, so a car's second trip is simply one that starts, the other
    way and near by, some minutes after its first has ended. No plan has to foresee how long a trip takes.
    """
    count = len(trips.number)
    stream = random_stream(settings.seed, settings.expressways)
    may_return = stream.random(count) < 0.5
    moves = stream.random(count) < ELSEWHERE
    ready = trips.ended + stream.integers(LEAST_STAY, MOST_STAY, count).astype(np.int32)
    firsts = np.flatnonzero(may_return & (trips.ended >= 0))
    seconds = np.flatnonzero(~may_return)
    # Where and which way each car would come back, and each candidate sets out.
    road = (trips.expressway[firsts] + moves[firsts]) % np.int32(settings.expressways)
    back = (road * 2 + 1 - trips.direction[firsts]) * NEIGHBOURHOOD + trips.left_by[firsts] // NEIGHBOURHOOD
    out = trips.expressway * 2 + trips.direction
    out = out[seconds] * NEIGHBOURHOOD + trips.entrance[seconds] // NEIGHBOURHOOD
    pairs = [np.empty((0, 2), np.intp)]
    for homes, chances in _by_spot(back, ready[firsts], out, trips.started[seconds]):
        # Each takes the first trip that nobody before it has taken.
        turn = np.arange(len(homes))
        found = np.searchsorted(trips.started[seconds[chances]], ready[firsts[homes]])
        found = np.maximum.accumulate(found - turn) + turn
        fits = found < len(chances)
        pairs.append(np.stack([firsts[homes[fits]], seconds[chances[found[fits]]]], axis=1))
    all_pairs = np.concatenate(pairs)
    wanted = min(round(SECOND_TRIPS * count), len(all_pairs))
    return all_pairs[np.sort(stream.choice(len(all_pairs), wanted, replace=False))]


def number_cars(settings: Settings, folder: Path) -> Numbered:
    """VIDs are 0, 1, 2, ... by expressway and time, for the cars with reports in the kept minutes."""
    trips = _read_trips(settings, folder)
    pairs = _second_trips(settings, trips)
    seen = (trips.ended < 0) | (trips.ended >= settings.first_kept)
    first, second = pairs[seen[pairs].all(axis=1)].T
    new = np.zeros((settings.expressways, int(trips.number.max(initial=-1)) + 1), bool)
    new[trips.expressway[seen], trips.number[seen]] = True
    new[trips.expressway[second], trips.number[second]] = False
    vids = np.where(new, np.cumsum(new).reshape(new.shape) - 1, -1).astype(np.int32)
    vids[trips.expressway[second], trips.number[second]] = vids[trips.expressway[first], trips.number[first]]
    return Numbered(vids, [int(cars) for cars in new.sum(axis=1)], len(first))
