"""How Spark's Java starts fast: a home of Spark without archives, and the classes that it needs, made ready."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from aurora.cache import cache_folder
from aurora.engine.private import close_to_others, is_trusted_file
from aurora.engine.spark.local_files import JAR
from aurora.errors import AuroraError

__all__ = ["class_archive", "not_started", "prepare", "spark_home"]

REAL = Path(pyspark.__file__).parent
# How long the making may take, in seconds.
PATIENCE = 600
# What makes the archive, in a process of its own.
MAKER = "aurora.engine.spark.java_archive"
# Lines that say nothing of why Java did not start: where a fault was, and what the script behind it made of that.
IDLE = re.compile(r"\s+at |Error: A JNI error|.*spark-class: line|.*warning", re.IGNORECASE)


@contextmanager
def spark_home() -> Iterator[Path | None]:
    """While Java starts, Spark's home is a folder with links to the real one, without the archives of Python files.

    Spark puts these archives before everything else, and each of its Python processes compiles what it loads from
    them anew: half a second, six times for one query. So they load Spark from where it is installed.
    """
    home = _home()
    if home is None:
        yield None
        return
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield home
    finally:
        del os.environ["SPARK_HOME"]


def class_archive() -> Path | None:
    """The classes that `prepare` has made ready, for this Java and this Spark.

    Java does not start with a file that was cut off, so its length is in its name.
    """
    home = _home()
    name = home and _name(home)
    found = filter(is_trusted_file, home.glob(f"{name}-*.jsa") if home and name else [])
    return next((path for path in found if path.stem.endswith(f"-{path.stat().st_size}")), None)


def not_started(said: str) -> AuroraError:
    """The fault for a Java that ended before it answered; `said` is what it wrote meanwhile."""
    named, java = os.environ.get("JAVA_HOME"), _java()
    if java is None:
        where = f"JAVA_HOME, {named}, has no bin/java" if named else "there is none"
        return AuroraError(f"Spark needs Java 17 or newer, and {where}: install it, or set JAVA_HOME")
    line = next((line.strip() for line in said.splitlines() if line.strip() and not IDLE.match(line)), None)
    told = f"it said: {line}" if line else "it said nothing"
    return AuroraError(
        f"Spark did not start, because {java} ended at once; {told}; "
        "Spark needs Java 17 or newer: install it, or set JAVA_HOME"
    )


def prepare() -> Path:
    """Makes the archive of classes: a process runs small queries, at whose end Java writes what it has loaded."""
    home = _home()
    name = home and _name(home)
    if home is None or name is None:
        raise AuroraError(
            "nothing to prepare: SPARK_HOME is set, there is no Java, or the cache folder cannot be written"
        )
    partial = home / f"{name}.{os.getpid()}"
    try:
        done = subprocess.run(
            [sys.executable, "-m", MAKER, str(partial)],
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        if done.returncode != 0 or not partial.exists():
            raise AuroraError(
                f"Java made no archive: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
            )
        for old in home.glob("classes-*.jsa"):
            old.unlink(missing_ok=True)
        partial.chmod(0o600)
        path = home / f"{name}-{partial.stat().st_size}.jsa"
        partial.replace(path)
    except subprocess.TimeoutExpired:
        raise AuroraError(f"Java made no archive in {PATIENCE} seconds") from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def _home() -> Path | None:
    """Return the folder for Spark's home, which does not move, because archives depend on it; None where the user says
    where Spark is, or where nothing can be written, or others could change what is started from there.
    """
    if "SPARK_HOME" in os.environ:
        return None
    mark = hashlib.sha256(str(REAL).encode()).hexdigest()[:8]
    home = cache_folder() / f"spark-{pyspark.__version__}-{mark}"
    try:
        home.parent.parent.mkdir(parents=True, exist_ok=True)
        if not (close_to_others(home.parent) and close_to_others(home)):
            return None
        for name in ("bin", "conf", "jars", "sbin"):
            if (REAL / name).exists() and not _leads_to(home / name, REAL / name):
                _replace_link(home / name, REAL / name)
    except OSError:
        return None
    return home


def _leads_to(link: Path, place: Path) -> bool:
    try:
        return os.readlink(link) == str(place)
    except OSError:
        return False


def _replace_link(link: Path, place: Path) -> None:
    """Make a link in one step, for others may start Spark at the same moment."""
    partial = link.with_name(f"{link.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    partial.symlink_to(place)
    partial.replace(link)


def _name(home: Path) -> str | None:
    """The name of the archive for this Java, this Spark and our own classes; for others it would be of no use."""
    java = _java()
    if java is None:
        return None
    # Java refuses an archive of other files than those it starts with.
    of = [
        os.path.realpath(java),
        str(JAR),
        *(os.stat(path).st_mtime_ns for path in (java, home / "jars", JAR)),
    ]
    return f"classes-{hashlib.sha256(repr(of).encode()).hexdigest()[:16]}"


def _java() -> str | None:
    """The Java that Spark's scripts would start."""
    named = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(named, "bin", "java") if named else "java")
