"""The wheel: what is in it, what it needs, and that it does what the first pages say, from an empty folder."""

import ast
import email
import re
import shlex
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import aurora
from aurora.extras import EXTRAS
from tests.installed import ROOT, Give, Installed, build, install

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("package")
    return install(build(folder), folder / "environment")


def test_the_wheel_has_all_of_the_package_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = set(wheel.namelist())
        about = next(name for name in names if name.endswith("/METADATA"))
        told = email.message_from_bytes(wheel.read(about))
    sources = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "aurora").rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert (told["Name"], told["Version"]) == ("aurora-spark", aurora.__version__)
    assert set(told.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    core = [each for each in told.get_all("Requires-Dist") if "extra ==" not in each]
    assert not [each for each in core if re.match("numba|duckdb|psycopg|matplotlib|confluent|paho", each)]


def test_it_is_the_wheel_that_runs(installed: Installed, tmp_path: Path) -> None:
    script = "import aurora, aurora.cli.main; print(aurora.__file__)"
    done = installed.call(["python", "-c", script], tmp_path)
    assert done.stdout.startswith(str(installed.environment)), done.stderr
    assert installed.call(["aurora", "--version"], tmp_path).stdout == f"aurora {aurora.__version__}\n"


def test_a_newcomer_without_spark(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text(
        "user,time,page\nann,2026-11-16T07:00:01Z,home\nbob,2026-11-16T07:00:20Z,home\nann,2026-11-16T07:01:05Z,shop\n"
    )

    def do(command: str, status: int = 0) -> str:
        done = installed.call(shlex.split(command), tmp_path)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    assert "2026-11-16 07:00:20" in do("aurora show clicks.csv")
    assert "to run it:  aurora run clicks.yaml --source clicks=csv:clicks.csv" in do(
        "aurora draft clicks.csv --out clicks.yaml"
    )
    assert "ok: 1 box, 1 input, 1 output" in do("aurora check clicks.yaml")
    assert "aggregate per_minute" in do("aurora explain clicks.yaml --no-spark")
    assert "2026-11-16 07:01:00" in do("aurora show clicks.yaml --source clicks=csv:clicks.csv")
    assert do("aurora check other.yaml", 1).startswith("error: cannot read network other.yaml: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clicks.csv", "clicks.yaml"]


def test_a_newcomer_follows_the_readme(installed: Installed, tmp_path: Path) -> None:
    """Every file of it is written and every command is given, in an empty folder and a process of its own, as the
    shell does it. tests/test_docs.py gives the commands of the other pages."""
    assert follow_page("README.md", installed.call, tmp_path) > 0


def follow_page(page: str, give: Give, folder: Path) -> int:
    done = 0
    for language, file, text in BLOCK.findall((ROOT / page).read_text()):
        if file:
            (folder / file).write_text(text)
        if language == "console":
            for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                done += follow(shlex.split(command), shown, give, folder)
    return done


def follow(words: list[str], shown: str, give: Give, folder: Path) -> int:
    """Gives a command, and compares what it shows: stdout, or stdout and stderr. Gives how often aurora was called."""
    if words[0] == "cat":
        assert (folder / words[1]).read_text() == shown
    if words[0] != "aurora":
        return 0
    done = give(words, folder)
    assert (done.returncode == 0) == ("error: " not in shown), (words, done.stderr)
    if shown and done.stdout != shown:
        assert plain(done.stdout + done.stderr, folder) == plain(shown, folder), words
    return 1


def plain(text: str, folder: Path) -> list[list[str]]:
    """The words of each line; how long a run took may be anything, and the folder is /data."""
    text = re.sub(r"in [\d.]+ s\b", "in N s", text.replace(str(folder), "/data"))
    # On a slow machine a run tells of its progress.
    return [line.split() for line in text.splitlines() if not re.match(r"\d+ s: ", line)]


NETWORK = """
network: n
inputs: {r: {schema: "a int"}}
boxes: {b: {filter: ["a > 1"], from: r}}
outputs: {o: {from: b}}
"""
# What blocks the packages of all extras, as if they were not installed.
WITHOUT = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


@pytest.fixture(scope="module")
def without_extras(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Give]:
    with installed.give_commands(tmp_path_factory.mktemp("without"), WITHOUT) as give:
        yield give


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("linear-road simulate --out x", "numba; pip install 'aurora-spark[benchmarks]'"),
        ("linear-road demo --out x", "numba; pip install 'aurora-spark[benchmarks]'"),
        ("linear-road compare --out x", "numba; pip install 'aurora-spark[benchmarks]'"),
        ("nexmark generate --events 1 --out x", "numba; pip install 'aurora-spark[benchmarks]'"),
        ("nexmark compare --out x", "duckdb; pip install 'aurora-spark[benchmarks]'"),
        ("explain graphs.yaml --plot x.png", "matplotlib; pip install 'aurora-spark[plot]'"),
        (
            "run n.yaml --source r=kafka:h:1/t --sink o=console",
            "confluent-kafka; pip install 'aurora-spark[kafka]'",
        ),
        ("run n.yaml --source r=mqtt:h:1/t --sink o=console", "paho-mqtt; pip install 'aurora-spark[mqtt]'"),
        (
            "run n.yaml --source r=csv:n.yaml --sink o=postgres:h:1/d/t",
            "psycopg; pip install 'aurora-spark[postgres]'",
        ),
    ],
)
def test_a_missing_extra_is_one_line(command: str, told: str, without_extras: Give, tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text(NETWORK)
    worth = "{from: b, qos: {latency: [[0, 1], [2, 1], [10, 0]]}}"
    (tmp_path / "graphs.yaml").write_text(NETWORK.replace("{from: b}", worth))
    done = without_extras(["aurora", *shlex.split(command)], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ") and done.stderr.endswith(f" needs the package {told}\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "check n.yaml",
        "explain n.yaml --no-spark",
        "show n.yaml --source r=csv:r.csv",
        "draft r.csv",
        "nexmark network q5",
        "completion bash",
        "linear-road simulate --help",
    ],
)
def test_the_core_works_without_extras(command: str, without_extras: Give, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,t\n1,2026-11-16 07:00:00\n2,2026-11-16 07:00:01\n")
    (tmp_path / "n.yaml").write_text(NETWORK)
    done = without_extras(["aurora", *shlex.split(command)], tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr


# Modules whose packages have other names, and those that come with another package.
PACKAGES = {"yaml": "pyyaml", "py4j": "pyspark", "google": "protobuf"}
CORE = ("algebra", "network", "engine", "adapt", "history", "cli")


@pytest.mark.parametrize("room", CORE)
def test_what_the_core_imports_is_what_it_requires(room: str) -> None:
    """What a module of the core imports when it is loaded is a dependency; extras are imported where they are used."""
    required = {re.split(r"[<>=\[]", each)[0] for each in PROJECT["dependencies"]}
    for path in sorted((ROOT / "aurora" / room).rglob("*.py")):
        for module in loaded(ast.parse(path.read_text(encoding="utf-8")).body):
            if module not in sys.stdlib_module_names and module != "aurora":
                assert PACKAGES.get(module, module) in required, f"{path.name} imports {module}"


def loaded(body: list[ast.stmt]) -> set[str]:
    """The modules that are imported outside of functions, and not for the checker of types alone."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Try):
            found |= loaded(node.body)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            found |= loaded(node.body + node.orelse)
    return found


def test_each_extra_is_known() -> None:
    """The packages of the extras are those that the fault of a missing one names; all has every extra of users."""
    extras = PROJECT["optional-dependencies"]
    packages = {
        re.split(r"[<>=\[]", each)[0]
        for name in set(EXTRAS.values()) & extras.keys()
        for each in extras[name]
    }
    modules = {module for module, extra in EXTRAS.items() if extra in extras}
    assert {package.replace("-", "_").removesuffix("_mqtt") for package in packages} == modules
    (every,) = extras["all"]
    assert set(re.findall(r"\[(.+)\]", every)[0].split(",")) == extras.keys() - {"all", "dev"}


def test_the_lock_file_has_all_that_is_asked_for() -> None:
    locked = {re.split(r"[\[=]", package)[0] for package, _ in read_lock("requirements.lock")}
    asked = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    names = {re.split(r"[<>=\[]", each)[0].lower().replace("_", "-") for each in asked} - {"aurora-spark"}
    assert names - locked == set()


def read_lock(name: str) -> list[tuple[str, list[str]]]:
    """Return each package of a lock file, with its version, and the hashes that its files may have."""
    text = re.sub(r"\\\n\s*", "", (ROOT / name).read_text())
    found = []
    for line in text.splitlines():
        if not line.startswith("#"):
            package, *hashes = line.split()
            found.append((package.lower().replace("_", "-"), hashes))
    return found


@pytest.mark.parametrize("name", ["requirements.lock", "docker/requirements.lock"])
def test_all_that_is_installed_is_known_by_its_hash(name: str) -> None:
    locked = read_lock(name)
    assert len(locked) > 20
    for package, hashes in locked:
        assert re.fullmatch(r"[a-z0-9.-]+(\[[a-z,]+\])?==\S+", package)
        assert hashes and all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", each) for each in hashes), package
    assert "://" not in (ROOT / name).read_text()


def test_the_image_has_what_was_tested() -> None:
    tested = {package for package, _ in read_lock("requirements.lock")}
    assert {package for package, _ in read_lock("docker/requirements.lock")} <= tested
    assert (
        "pip install --quiet --disable-pip-version-check --require-hashes" in (ROOT / "Makefile").read_text()
    )
