"""The kernel of the accounts box: charges and answers in the order of arrival."""

from typing import Any

from aurora.linear_road.compiled import cached_kernel
from aurora.linear_road.network.following import place_of

__all__ = ["ARCHIVED", "charge"]

# The part of an account whose car is on no trip.
ARCHIVED = -1


@cached_kernel
def charge(
    quotes: Any, asked: Any, ended: Any, rows: Any, count: Any, table: Any, interval: Any, exit_lane: Any
) -> Any:
    """`rows`: VID, balance, pending toll, part; where a car has two, the later one is newer. Gives their number.

    `quotes`, `asked` and `ended` have the arrival number first; `asked` the place for the answer last.
    """
    arrival, vid, time, lane, toll, begins = quotes
    asked_arrival, asked_vid, balances = asked
    end_arrival, end_vid = ended
    car, balance, pending, part = rows
    for row in range(count):
        at = place_of(table, car, car[row])
        if table[at] >= 0:
            # What was archived once is older than what was archived since, or than the account of a running trip.
            part[table[at]] = ARCHIVED - 1
        table[at] = row
    ends = questions = 0
    for i in range(vid.size + 1):
        last = i == vid.size
        while ends < end_vid.size and (last or end_arrival[ends] <= arrival[i]):
            if questions < asked_vid.size and asked_arrival[questions] < end_arrival[ends]:
                row = table[place_of(table, car, asked_vid[questions])]
                balances[questions] = balance[row] if row >= 0 else 0
                questions += 1
                continue
            row = table[place_of(table, car, end_vid[ends])]
            if row >= 0:
                part[row] = ARCHIVED
                pending[row] = 0
            ends += 1
        while questions < asked_vid.size and (last or asked_arrival[questions] < arrival[i]):
            row = table[place_of(table, car, asked_vid[questions])]
            balances[questions] = balance[row] if row >= 0 else 0
            questions += 1
        if last:
            break
        at = place_of(table, car, vid[i])
        row = table[at]
        if row < 0:
            row = count
            count += 1
            table[at] = row
            car[row], balance[row], pending[row] = vid[i], 0, 0
        elif not begins[i]:
            balance[row] += pending[row]
        part[row] = time[i] % interval
        pending[row] = 0 if lane[i] == exit_lane else toll[i]
    return count
