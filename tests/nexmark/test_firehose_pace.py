"""When events happen."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aurora.errors import AuroraError
from aurora.nexmark.firehose import Pace

SECOND = 1_000_000
RATES = st.integers(1, 3_000_000)
PACES = st.one_of(
    RATES.map(Pace.constant),
    st.builds(
        lambda low, high, seconds: Pace("sine", (low, high), seconds), RATES, RATES, st.integers(1, 300)
    ),
    st.builds(
        lambda rates, seconds: Pace("steps", tuple(rates), seconds),
        st.lists(RATES, min_size=1, max_size=5),
        st.integers(1, 20),
    ),
)


@given(pace=PACES, number=st.integers(0, 10**12))
def test_a_number_has_its_moment_and_a_moment_its_number(pace: Pace, number: int) -> None:
    moment = pace.moment(number)
    first = pace.number_at(moment)
    assert first <= number and pace.moment(first) == moment
    assert first == 0 or pace.moment(first - 1) < moment
    assert pace.moment(number + 1) >= moment


@given(pace=PACES, moment=st.integers(-5, 10**15))
def test_nothing_before_the_first_number_of_a_moment_is_later(pace: Pace, moment: int) -> None:
    number = pace.number_at(moment)
    assert pace.moment(number) >= moment
    assert number == 0 or pace.moment(number - 1) < moment


def by_second(pace: Pace, seconds: int) -> list[int]:
    numbers = [pace.number_at(second * SECOND) for second in range(seconds + 1)]
    return [after - before for before, after in pairwise(numbers)]


def test_rates_are_as_asked_for() -> None:
    assert by_second(Pace.parse("10000"), 3) == [10_000] * 3
    assert by_second(Pace.parse("steps:1000,5000:2"), 6) == [1000, 1000, 5000, 5000, 1000, 1000]
    wave = by_second(Pace.parse("sine:5000..15000:60"), 120)
    assert wave[:60] == wave[60:] and sum(wave[:60]) == 600_000
    assert max(wave) == pytest.approx(15_000, rel=0.01) and min(wave) == pytest.approx(5000, rel=0.01)
    assert wave.index(max(wave)) in (14, 15) and wave.index(min(wave)) in (44, 45)


def test_the_text_is_read_back() -> None:
    for text in ("10000", "sine:5000..20000:60", "steps:1000,5000:2"):
        assert str(Pace.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "0",
        "-5",
        "1.5",
        "sine:5",
        "sine:5..9",
        "sine:1-9:60",
        "steps::5",
        "steps:1,2:0",
        "waves:1..2:3",
    ],
)
def test_rates_that_are_none(text: str) -> None:
    with pytest.raises(AuroraError, match="--rate"):
        Pace.parse(text)
