"""A disk that is really full: nothing is lost, and the run goes on when there is room again."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from aurora import AuroraError, Network, Settings, run


def mount(folder: Path, *options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    if not mount(folder, "size=256k"):
        pytest.skip("no small disk: mounting one needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_run_goes_on_once_there_is_room_again(
    spark: SparkSession, small_disk: Path, tmp_path: Path
) -> None:
    lines = "n\n" + "".join(f"{number}\n" for number in range(60_000))
    (tmp_path / "in.csv").write_text(lines)
    network = Network("copy")
    network.output("out", network.input("rows", "n int").filter("n >= 0", name="all"))
    bound = {"rows": f"csv:{tmp_path / 'in.csv'}"}, {"out": f"csv:{small_disk / 'out.csv'}"}
    settings = Settings(checkpoint=str(tmp_path / "checkpoint"), batch=20_000)
    with pytest.raises(
        AuroraError, match=r"cannot write \S+out.csv: No space left on device; fix the cause and give the"
    ):
        run(network, *bound, settings)
    assert mount(small_disk, "remount", "size=4m")
    assert run(network, *bound, settings).ended
    assert (small_disk / "out.csv").read_text() == lines
