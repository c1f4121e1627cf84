"""Who drives where and when: the trips of an expressway, drawn before it is simulated."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aurora.linear_road.simulator.road import LEAST_ENTRY_SPEED, MOST_ENTRY_SPEED, MPH, SEGMENTS

__all__ = ["Progress", "Trips", "draw_trips", "new_progress", "random_stream"]

# The rush hour builds up: trips a second at the start and after three hours, returning cars included.
FIRST_RATE, LAST_RATE = 13.5, 17.0
FULL_LENGTH = 180 * 60
EXIT_MEAN, EXIT_SPREAD = 50.0, 20.0
LANE_SHARES = (0.24, 0.52, 0.24)

Ints = NDArray[np.int32]


class Trips(NamedTuple):
    """The trips of one direction by time of arrival; segments count in the direction of travel."""

    number: Ints
    due: Ints
    entrance: Ints
    exit: Ints
    own_lane: Ints
    wish: NDArray[np.float64]
    entry_speed: NDArray[np.float64]
    # The trips of each entrance, in order of arrival: `queue[first[s]:first[s + 1]]`.
    queue: Ints
    first: Ints


class Progress(NamedTuple):
    """What became of the trips: the next of each queue; when each began, when and where it ended, or -1."""

    waiting: Ints
    started: Ints
    ended: Ints
    left_by: Ints


def new_progress(trips: Trips) -> Progress:
    return Progress(trips.first[:-1].copy(), *[np.full(len(trips.due), -1, np.int32) for _ in range(3)])


def random_stream(seed: int, *purpose: int) -> np.random.Generator:
    """A stream of its own for each purpose, whichever process asks for it and when."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=purpose)))


def draw_trips(seed: int, expressway: int, direction: int, seconds: int) -> Trips:
    """Entrances are uniform, exits Normal(50, 20); which lies west of the other decides the direction.

    Both directions draw the whole expressway and keep their own, so trip numbers are unique on it.
    """
    stream = random_stream(seed, expressway, 0)
    rates = FIRST_RATE + (LAST_RATE - FIRST_RATE) * np.arange(seconds) / FULL_LENGTH
    due = np.repeat(np.arange(seconds, dtype=np.int32), stream.poisson(rates))
    count = len(due)
    entrance = stream.integers(0, SEGMENTS, count).astype(np.int32)
    exit_ = np.rint(stream.normal(EXIT_MEAN, EXIT_SPREAD, count)).astype(np.int32)
    wrong = (exit_ < 0) | (exit_ >= SEGMENTS) | (exit_ == entrance)
    while wrong.any():
        exit_[wrong] = np.rint(stream.normal(EXIT_MEAN, EXIT_SPREAD, int(wrong.sum())))
        wrong = (exit_ < 0) | (exit_ >= SEGMENTS) | (exit_ == entrance)
    own_lane = 1 + stream.choice(3, count, p=LANE_SHARES).astype(np.int32)
    wish = np.clip(stream.normal(56.3, 6.0, count), 42.0, 74.0) * MPH
    entry_speed = np.clip(stream.normal(26.2, 4.2, count) * MPH, LEAST_ENTRY_SPEED, MOST_ENTRY_SPEED)
    west = exit_ < entrance
    mine = np.flatnonzero(west if direction else ~west).astype(np.int32)
    if direction:
        entrance, exit_ = SEGMENTS - 1 - entrance, SEGMENTS - 1 - exit_
    entrance = entrance[mine]
    queue = np.argsort(entrance, kind="stable").astype(np.int32)
    first = np.searchsorted(entrance[queue], np.arange(SEGMENTS + 1)).astype(np.int32)
    return Trips(
        mine,
        due[mine],
        entrance,
        exit_[mine],
        own_lane[mine],
        wish[mine],
        entry_speed[mine],
        queue,
        first,
    )
