"""Dynamic introspection: outputs outside their good zone and inputs that fall behind, noticed and, later, over."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aurora.adapt.figures import Figures
from aurora.network.qos import Qos

__all__ = ["Look", "Noticed", "end_quiet", "look_at", "look_at_shortfall", "look_at_waiting", "notice"]

# So many batches in a row begin a trouble, and so many end it: one slow batch is none, and one quick batch no cure.
BEGIN, END = 3, 3
# An input is behind from this number of seconds of its rate on, and caught up again below half of it.
BEHIND = 1.0
# Fewer rows than these are no queue.
FEW = 1000
# It falls further behind where its queue grows by this share of its rate.
GROWS = 0.01


@dataclass(frozen=True)
class Look:
    """What one batch shows of an input or output: bad, good, or, between the two, neither; and in words."""

    bad: bool
    good: bool
    trouble: str
    over: str


@dataclass(frozen=True)
class Case:
    """How many batches in a row were bad and good; `open` holds the words while there is a trouble."""

    bad: int = 0
    good: int = 0
    open: str | None = None


@dataclass(frozen=True)
class Noticed:
    """What is known after a batch; `told` is what is new, a sentence for each trouble that began or is over."""

    cases: Mapping[str, Case] = field(default_factory=dict)
    told: tuple[str, ...] = ()

    @property
    def open(self) -> list[str]:
        """The inputs and outputs that are in trouble."""
        return [name for name, case in self.cases.items() if case.open is not None]

    @property
    def troubles(self) -> list[str]:
        return [case.open for case in self.cases.values() if case.open is not None]


def look_at(
    figures: Figures, graphs: Mapping[str, Qos | None], delays: Mapping[str, tuple[float, float]]
) -> dict[str, Look]:
    """What a batch shows, by input and output; `delays` are seconds that its rows were under way, median and p99."""
    found: dict[str, Look] = {}
    for name, qos in graphs.items():
        if qos is not None and qos.latency is not None and name in delays:
            _, slowest = delays[name]
            end = qos.latency.good_until
            found[f"output {name}"] = Look(
                slowest > end,
                slowest <= end,
                f"output {name} is outside its good zone: p99 {_seconds(slowest)} > {_seconds(end)}",
                f"output {name} is in its good zone again: p99 {_seconds(slowest)}",
            )
    for name, read in figures.inputs.items():
        if not read.live or read.waiting is None:
            continue
        many = max(BEHIND * read.rate, FEW)
        grows = f", growing by {read.growth:,.0f} a second" if read.growth >= 1 else ""
        found[f"input {name}"] = Look(
            read.waiting > many and read.growth > GROWS * read.rate,
            read.waiting <= many / 2,
            f"input {name} falls behind: {read.waiting:,} rows waiting{grows}",
            f"input {name} has caught up: {read.waiting:,} rows waiting",
        )
    return found


def look_at_waiting(graphs: Mapping[str, Qos | None], ages: Mapping[str, float]) -> dict[str, Look]:
    """The outputs that make no batch while what leads to them waits, and waits too long; `ages` are seconds."""
    found: dict[str, Look] = {}
    for name, age in ages.items():
        qos = graphs.get(name)
        if qos is not None and qos.latency is not None and age > qos.latency.good_until:
            text = f"output {name} is outside its good zone: what leads to it waits for {_seconds(age)}"
            found[f"output {name}"] = Look(True, False, f"{text} > {_seconds(qos.latency.good_until)}", "")
    return found


def look_at_shortfall(shortfall: float, obstacles: Sequence[str]) -> Look:
    """Return what a batch shows of shedding, by the seconds of one core that should be saved and cannot be."""
    why = "; ".join(obstacles) or "all that the graphs allow is left out"
    return Look(
        shortfall > 0,
        shortfall == 0,
        f"overload: not enough load can be shed: {why}",
        "no more load than can be shed comes any more",
    )


def end_quiet(before: Noticed, quiet: Collection[str]) -> Noticed:
    """Without the troubles of outputs to which nothing came for long, though nothing waits on its way there."""
    ended = [name for name in quiet if before.cases[name].open is not None]
    over = {name: Case() for name in ended}
    return Noticed({**before.cases, **over}, tuple(f"{name} has no late rows any more" for name in ended))


def notice(before: Noticed, looks: Mapping[str, Look]) -> Noticed:
    """With another batch; what it does not show stays as it was.

    >>> slow = Look(True, False, "output far is slow", "output far is quick again")
    >>> noticed = Noticed()
    >>> for _ in range(3):
    ...     noticed = notice(noticed, {"output far": slow})
    >>> noticed.told, noticed.troubles
    (('output far is slow',), ['output far is slow'])
    >>> notice(noticed, {"output far": slow}).told
    ()
    """
    cases, told = dict(before.cases), []
    for name, look in looks.items():
        case = cases.get(name, Case())
        case = replace(case, bad=case.bad + 1 if look.bad else 0, good=case.good + 1 if look.good else 0)
        if case.open is None and case.bad >= BEGIN:
            case = replace(case, open=look.trouble)
            told.append(look.trouble)
        elif case.open is not None and case.good >= END:
            case = replace(case, open=None)
            told.append(look.over)
        elif case.open is not None and not look.good:
            case = replace(case, open=look.trouble)
        cases[name] = case
    return Noticed(cases, tuple(told))


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s"
