"""A PostgreSQL server of one's own: found or installed, started on a temporary folder, gone afterwards."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from aurora.errors import AuroraError

__all__ = ["ensure_server", "find_server", "running_server"]

_MISSING = (
    "no PostgreSQL server on this machine (looked for postgres and initdb on PATH and in /usr/lib/postgresql): "
    "install it (apt-get install postgresql, or brew install postgresql), or leave postgres out of --systems"
)
_PACKAGED = Path("/usr/lib/postgresql")
# The longest path of a Unix socket is about 100 characters.
_LONGEST = 70
_START_SECONDS = 60.0

# As System X of the paper: no recovery, everything in memory that fits.
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "shared_buffers": "2GB",
    "work_mem": "256MB",
    "maintenance_work_mem": "512MB",
    "hash_mem_multiplier": "4",
    "jit": "off",
}


def _programs(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in ("postgres", "initdb"))


def find_server(packaged: Path = _PACKAGED) -> Path | None:
    """The folder with the server's programs: that of PATH, else the newest packaged one."""
    found = shutil.which("postgres")
    if found and _programs(Path(found).resolve().parent):
        return Path(found).resolve().parent
    versions = [path for path in packaged.glob("*/bin") if _programs(path)]
    return max(versions, key=lambda path: _version(path.parent.name), default=None)


def _version(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def ensure_server(tell: Callable[[str], None] = lambda _: None) -> Path:
    """The folder with the server's programs, installed first where there is none and the machine allows it."""
    return find_server() or _install(tell)


def _install(tell: Callable[[str], None]) -> Path:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise AuroraError(_MISSING)
    tell("installing PostgreSQL with apt-get (once)")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "postgresql"]):
        done = subprocess.run(
            ["apt-get", "-qq", *words], env=quiet, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AuroraError(f"{_MISSING}; apt-get said: {_last_line(done.stderr or done.stdout)}")
    found = find_server()
    if found is None:
        raise AuroraError(_MISSING)
    return found


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "nothing"


def _owner() -> dict[str, Any]:
    """For subprocess: the server refuses to be root, so root starts it as another user."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise AuroraError("PostgreSQL does not run as root, and there is no user postgres or nobody: add one")


@contextmanager
def running_server(tell: Callable[[str], None] = lambda _: None) -> Iterator[str]:
    """Yields the connection string of a server that nobody else sees; its folder goes with it."""
    programs = ensure_server(tell)
    owner = _owner()
    place = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="aurora-pg-", dir=place if len(place) < _LONGEST else "/tmp"))
    try:
        if owner:
            os.chown(folder, owner["user"], owner["group"])
        with _started(programs, folder, owner) as address:
            yield address
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _started(programs: Path, folder: Path, owner: dict[str, Any]) -> Iterator[str]:
    data, log = folder / "data", folder / "log"
    words = [str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "aurora", "--no-sync"]
    made = subprocess.run(
        [*words, "-E", "UTF8", "--locale=C"], cwd=folder, capture_output=True, text=True, check=False, **owner
    )
    if made.returncode:
        raise AuroraError(f"PostgreSQL's initdb failed: {_last_line(made.stderr)}")
    settings = {**_SETTINGS, "unix_socket_directories": str(folder)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with log.open("w") as said:
        # Not in this process's group: an interrupt comes to us alone, and we stop the server.
        server = subprocess.Popen(
            [str(programs / "postgres"), "-D", str(data), *options],
            cwd=folder,
            stdout=said,
            stderr=said,
            start_new_session=True,
            **owner,
        )
    address = f"host={folder} user=aurora dbname=postgres"
    try:
        _wait(server, address, log)
        yield address
    finally:
        _stop(server)


def _wait(server: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise AuroraError(f"PostgreSQL did not start: {_last_line(log.read_text())}") from None
            time.sleep(0.05)


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """Connections are cut and the server ends; if it does not, it is ended."""
    server.send_signal(signal.SIGINT)
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
