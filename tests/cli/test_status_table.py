"""The figures of a network on a terminal of 80 columns."""

import io

from rich.console import Console

from aurora.cli.status_table import show_status

LONG = "a_long_name_" * 6
STATUS = {
    "state": "running",
    "batch": 12_345,
    "rejected": 1_234_567,
    "inputs": {LONG: {"rate": 1_234_567.8, "waiting": 123_456_789}},
    "boxes": {LONG: {"taken": 10**12, "given": 10**12, "cost_us": 123.456, "state_bytes": 10**10}},
    "outputs": {
        LONG: {
            "rows": 10**11, "rate": 123_456.7, "latency_p50": 12.345, "latency_p99": 123.4, "utility": 0.98,
            "delivered": 0.75, "shed": 10**8,
        }
    },
    "points": {LONG: {"keep": "latest", "rows": 10**9, "passed": 10**10, "bytes": 10**12}},
    "arcs": {LONG: {"waiting": 10**9}},
    "queries": {LONG: {"state": "running", "taken": 10**9, "behind": 10**6, "fault": None}},
    "troubles": [f"output {LONG} is outside its good zone: p99 123 s > 2 s"],
    "waits": [{"for": f"sink {LONG}: Kafka at h:1 does not take rows", "since": 1e9}],
}  # fmt: skip


def test_all_of_it_fits() -> None:
    screen = io.StringIO()
    Console(file=screen, width=80).print(show_status(STATUS))
    shown = screen.getvalue()
    assert max(map(len, shown.splitlines())) <= 80 and "…" not in shown
    for number in (
        "1,234,568",
        "123,456,789",
        "1,000,000,000,000",
        "100,000,000,000",
        "123,457",
        "0.98",
        "100,000,000",
    ):
        assert f" {number}" in shown, number


def test_the_file_of_rejects_is_named() -> None:
    screen = io.StringIO()
    found = {"state": "running", "batch": 3, "rejected": 2, "rejects": "/home/rejects.csv"}
    Console(file=screen, width=80).print(show_status(found))
    Console(file=screen, width=80).print(show_status({**found, "rejected": 0}))
    assert screen.getvalue().splitlines() == [
        "running, 3 batches, 2 rejected: see /home/rejects.csv", "running, 3 batches",
    ]  # fmt: skip


def test_what_a_failed_query_holds_is_said() -> None:
    points = {
        "near": {"keep": 25, "rows": 40, "passed": 90, "bytes": 10, "held": {"report": 1_500, "live": 3}}
    }
    queries = {
        "report": {"state": "failed", "taken": 1, "behind": 9, "fault": "cannot write r.csv"},
        "live": {"state": "catching up", "taken": 1, "behind": 9, "fault": None},
    }
    screen = io.StringIO()
    Console(file=screen, width=200).print(
        show_status({"state": "running", "points": points, "queries": queries})
    )
    assert screen.getvalue().splitlines()[-2:] == [
        "query report: cannot write r.csv",
        "query report: for it alone near holds 1,500 rows more than it keeps, and soon others: resume or detach it",
    ]
