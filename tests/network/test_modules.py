"""Modules beside a network: only those that it names, and never in the place of what is installed."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aurora import AuroraError, read_network
from aurora.history.query import parse_query
from aurora.network.modules import forget_modules

PLAIN = """network: n
inputs: {a: {schema: "A int"}}
boxes: {f: {filter: [A > 1], from: a}}
outputs: {o: {from: f}}
"""
OWN = PLAIN.replace(
    "{f: {filter: [A > 1], from: a}}",
    '{f: {user: "MODULE:own", inputs: {x: a}, outputs: {o: "A int"}}}',
)


@pytest.fixture(autouse=True)
def _forgotten(tmp_path: Path) -> Iterator[None]:
    yield
    for folder in (tmp_path, *filter(Path.is_dir, tmp_path.iterdir())):
        forget_modules(folder)


def write(folder: Path, module: str, value: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(f"VALUE = {value!r}\ndef own(inputs, turn):\n    return VALUE\n")


def network(folder: Path, module: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "network.yaml"
    path.write_text(OWN.replace("MODULE", module))
    return path


def value(path: Path) -> object:
    return read_network(path).boxes["f"].operator.kernel({}, None)  # type: ignore[attr-defined]


def test_a_network_without_modules_of_its_own_opens_no_folder(tmp_path: Path) -> None:
    write(tmp_path, "lies_beside_a_plain_one", 1)
    (tmp_path / "plain.yaml").write_text(PLAIN)
    read_network(tmp_path / "plain.yaml")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("lies_beside_a_plain_one")


def test_what_is_installed_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "installed", "shadowed_by_a_network", "installed")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    write(tmp_path / "foreign", "shadowed_by_a_network", "foreign")
    write(tmp_path / "foreign", "of_the_network_alone", "own")
    # Its folder is looked into, for the other module.
    assert value(network(tmp_path / "foreign", "of_the_network_alone")) == "own"
    assert importlib.import_module("shadowed_by_a_network").VALUE == "installed"
    assert value(network(tmp_path / "foreign", "shadowed_by_a_network")) == "installed"
    del sys.modules["shadowed_by_a_network"]


def test_each_network_has_the_modules_of_its_own_folder(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / f"folder{number}", "in_two_folders", number)
    paths = [network(tmp_path / f"folder{number}", "in_two_folders") for number in (1, 2)]
    assert [value(path) for path in (*paths, paths[0])] == [1, 2, 1]


def test_a_folder_in_which_others_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = network(tmp_path / "shared", "put_there_by_others")
    write(tmp_path / "shared", "put_there_by_others", 1)
    (tmp_path / "shared").chmod(0o777)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(AuroraError, match=r"box f .*others can write to .*shared, which is not yours"):
        read_network(path)
    assert "put_there_by_others" not in sys.modules
    (tmp_path / "shared").chmod(0o755)
    assert value(path) == 1


def test_a_query_forgets_only_what_networks_have_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a_library_of_the_user", 1)
    write(tmp_path, "a_module_of_a_query", 1)
    monkeypatch.syspath_prepend(str(tmp_path))
    library = importlib.import_module("a_library_of_the_user")
    monkeypatch.undo()
    text, path = OWN.replace("MODULE", "a_module_of_a_query"), str(tmp_path / "query.yaml")
    parse_query(text, path, {}, path)
    before = sys.modules["a_module_of_a_query"]
    write(tmp_path, "a_module_of_a_query", 22)
    query = parse_query(text, path, {}, path)
    assert query.boxes["f"].operator.kernel({}, None) == 22  # type: ignore[attr-defined]
    assert sys.modules["a_module_of_a_query"] is not before
    assert sys.modules.pop("a_library_of_the_user") is library
    # A query that lies in Aurora's own folder throws nothing of Aurora out.
    own = {name for name in sys.modules if name.startswith("aurora.")}
    parse_query(
        PLAIN, str(Path(sys.modules["aurora.history.query"].__file__ or "").parent / "q.yaml"), {}, "q"
    )
    assert own <= set(sys.modules)
