"""Speeds of the NEXMark firehose: `python -m benchmarks.firehose`, with 0.1 behind it for a quick look."""

import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from aurora.nexmark.firehose import Settings, events
from aurora.nexmark.firehose.ahead import chunks, in_order
from aurora.nexmark.firehose.folder import generate
from aurora.nexmark.firehose.formats import json_lines
from aurora.nexmark.firehose.making import facts_of
from aurora.nexmark.firehose.serve import Tap, serve
from benchmarks.clock import best_of, show

__all__ = ["main"]

# What query 5 looks at.
FEW = pa.schema([("bid", pa.struct([("auction", pa.int64()), ("dateTime", pa.timestamp("us", tz="UTC"))]))])


def all_of(job: Callable[[tuple[int, int]], object], number: int) -> None:
    for _ in in_order(job, chunks(0, number)):
        pass


def served(settings: Settings, number: int) -> None:
    def drink(port: int) -> None:
        buffer = bytearray(1 << 20)
        with socket.create_connection(("127.0.0.1", port)) as connection:
            while connection.recv_into(buffer):
                pass

    tap = Tap("127.0.0.1", 0)
    client = threading.Thread(target=drink, args=(tap.port,))
    serve(settings, number, [tap], paced=False, ready=client.start)
    client.join()


def jobs(settings: Settings, number: int, folder: Path) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {
        "rows, one core": lambda: [events(settings, *span) for span in chunks(0, number // 4)],
        "rows": lambda: all_of(lambda span: events(settings, *span), number),
        "rows, two fields": lambda: all_of(lambda span: events(settings, *span, FEW), number),
        "JSON text in memory": lambda: all_of(lambda span: json_lines(facts_of(settings, *span)), number),
        "JSON files": lambda: generate(settings, number, folder, "json"),
        "Parquet files": lambda: generate(settings, number, folder, "parquet"),
        "JSON over TCP": lambda: served(settings, number),
    }
    if settings.profile == "draft":
        found["XML files"] = lambda: generate(settings, number, folder, "xml")
    return found


def main(scale: float = 1.0) -> None:
    number = max(10_000, round(2_000_000 * scale))
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for profile in ("standard", "draft"):
            settings = Settings(profile, seed=1)
            for name, job in jobs(settings, 10_000, Path(temporary)).items():
                job()
                made = number // 4 if "one core" in name else number
                seconds = best_of(3, jobs(settings, number, Path(temporary))[name])
                rows.append([profile, name, f"{made / seconds:,.0f}"])
    show(f"firehose, {number:,} events, all cores", ["profile", "what", "events/s"], rows)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
