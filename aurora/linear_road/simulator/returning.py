"""Which trips one car makes: a tenth of the cars comes back for a second one, some on another expressway."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.simulator.direction import Direction
from aurora.linear_road.simulator.settings import Settings
from aurora.linear_road.simulator.trips import random_stream

__all__ = ["number_cars", "second_trips"]

# Of a hundred cars ten make two trips, so of 110 trips ten are second ones.
SECOND_TRIPS = 1 / 11
ELSEWHERE = 0.2
LEAST_STAY, MOST_STAY = 300, 1800
# A car comes back in the tenth of the road where it left.
NEIGHBOURHOOD = 10

Trip = NDArray[np.int64]


def _table(directions: Sequence[Direction]) -> Trip:
    """All trips: expressway, direction, number, start, end, entrance, exit."""
    tables = [
        np.stack(
            [
                np.full(len(each.number), each.expressway),
                np.full(len(each.number), each.direction),
                each.number,
                each.started,
                each.ended,
                each.entrance,
                each.left_by,
            ],
            axis=1,
        ).astype(np.int64)
        for each in directions
    ]
    return np.concatenate(tables)


def second_trips(settings: Settings, directions: Sequence[Direction]) -> Trip:
    """Pairs of trips of one car: (expressway, number) of the first and of the second.

    Trips are simulated without knowing their car, so a car's second trip is simply one that starts, the other
    way and near by, some minutes after its first has ended. No plan has to foresee how long a trip takes.
    """
    trips = _table(directions)
    stream = random_stream(settings.seed, settings.expressways)
    may_return = stream.random(len(trips)) < 0.5
    moves = stream.random(len(trips)) < ELSEWHERE
    ready = trips[:, 4] + stream.integers(LEAST_STAY, MOST_STAY, len(trips))
    firsts = np.flatnonzero(may_return & (trips[:, 4] >= 0) & (ready < settings.seconds))
    seconds = np.flatnonzero(~may_return)
    # Where and which way each car would come back, and each candidate sets out.
    back_on = (trips[firsts, 0] + moves[firsts]) % settings.expressways
    back = (back_on * 2 + 1 - trips[firsts, 1]) * NEIGHBOURHOOD + trips[firsts, 6] // NEIGHBOURHOOD
    out = (trips[seconds, 0] * 2 + trips[seconds, 1]) * NEIGHBOURHOOD + trips[seconds, 5] // NEIGHBOURHOOD
    pairs = []
    for spot in np.unique(back):
        homes, chances = firsts[back == spot], seconds[out == spot]
        homes = homes[np.argsort(ready[homes], kind="stable")]
        chances = chances[np.argsort(trips[chances, 3], kind="stable")]
        # Each takes the first trip that nobody before it has taken.
        turn = np.arange(len(homes))
        found = np.searchsorted(trips[chances, 3], ready[homes])
        found = np.maximum.accumulate(found - turn) + turn
        homes, found = homes[found < len(chances)], found[found < len(chances)]
        pairs.append(np.concatenate([trips[homes][:, [0, 2]], trips[chances[found]][:, [0, 2]]], axis=1))
    all_pairs = np.concatenate(pairs) if pairs else np.empty((0, 4), np.int64)
    wanted = min(round(SECOND_TRIPS * len(trips)), len(all_pairs))
    return all_pairs[np.sort(stream.choice(len(all_pairs), wanted, replace=False))]


def number_cars(
    settings: Settings, directions: Sequence[Direction]
) -> tuple[list[NDArray[np.int32]], list[int], int]:
    """The VIDs of the trips by expressway (-1: not seen), the cars first seen on each, those that come back.

    Only cars with reports in the kept minutes get one: 0, 1, 2, ... by expressway and time.
    """
    pairs = second_trips(settings, directions)
    trips = _table(directions)
    size = int(trips[:, 2].max(initial=-1)) + 1
    seen = np.zeros((settings.expressways, size), bool)
    visible = trips[(trips[:, 4] < 0) | (trips[:, 4] >= settings.first_kept)]
    seen[visible[:, 0], visible[:, 2]] = True
    pairs = pairs[seen[pairs[:, 0], pairs[:, 1]] & seen[pairs[:, 2], pairs[:, 3]]]
    new = seen.copy()
    new[pairs[:, 2], pairs[:, 3]] = False
    vids = np.where(new, np.cumsum(new.ravel()).reshape(new.shape) - 1, -1).astype(np.int32)
    vids[pairs[:, 2], pairs[:, 3]] = vids[pairs[:, 0], pairs[:, 1]]
    return list(vids), [int(count) for count in new.sum(axis=1)], len(pairs)
