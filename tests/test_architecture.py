"""Dependencies point down only, and the public names are those of the manual."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import aurora

ROOT = Path(aurora.__file__).parent
ROOMS = ("algebra", "network", "engine", "adapt", "history", "linear_road", "nexmark", "studio", "cli")

# What each room may import; `errors`, `extras` and `cache` are open to all.
ALLOWED: dict[str, set[str]] = {
    "algebra": {"algebra"},
    "network": {"algebra", "network"},
    "engine": {"algebra", "network", "engine"},
    "adapt": {"algebra", "network", "engine", "adapt"},
    "history": {"algebra", "network", "engine", "adapt", "history"},
    "studio": {"algebra", "network", "engine", "history", "adapt", "studio"},
    "linear_road": {"linear_road"},
    "nexmark": {"nexmark"},
    "cli": set(ROOMS),
}
OPEN = {"aurora.errors", "aurora.extras", "aurora.cache", "aurora.characters"}
# The benchmarks are users like any other: the names of the package itself, Spark's session, and locks on their files.
PUBLIC = {"aurora", "aurora.engine.locks", "aurora.engine.spark.session"}


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The modules of this package that a module imports, wherever in its text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            found.add(node.module or "")
            if node.module == "aurora":
                found |= {f"aurora.{a.name}" for a in node.names if (ROOT / a.name).is_dir()}
    return {name for name in found if name == "aurora" or name.startswith("aurora.")}


def faults(room: str, path: Path) -> list[str]:
    wrong = []
    for name in imported(path):
        target = name.split(".")[1] if "." in name else ""
        allowed = target in ALLOWED[room] or name in OPEN
        if room in ("linear_road", "nexmark"):
            allowed |= name in PUBLIC
        # The root gathers names of the rooms up to the engine, so only what stands above them may use it.
        if name == "aurora" and room in ("history", "adapt", "studio", "cli"):
            allowed = True
        if not allowed:
            wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    return wrong


@pytest.mark.parametrize("room", [room for room in ROOMS if (ROOT / room).is_dir()])
def test_dependencies_point_down(room: str) -> None:
    assert modules(room), f"the room {room} is empty"
    assert [fault for path in modules(room) for fault in faults(room, path)] == []


def test_every_room_is_known() -> None:
    found = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert found <= set(ROOMS)


# What the folders of the sources may import of each other; those that all use, and the addresses, lie beside them.
WITHIN_SOURCES = {
    "text": {"source", "text"},
    "files": {"source", "text", "files", "growth"},
    "live": {"source", "text", "live"},
    "in_memory": {"source", "in_memory"},
}


@pytest.mark.parametrize("folder", WITHIN_SOURCES)
def test_the_folders_of_the_sources_point_one_way(folder: str) -> None:
    for path in modules(f"engine/sources/{folder}"):
        inside = [name.split(".")[3] for name in imported(path) if name.startswith("aurora.engine.sources.")]
        assert set(inside) <= WITHIN_SOURCES[folder], path


def test_the_plan_lies_above_the_sources_and_below_spark() -> None:
    for path in modules("engine/sources"):
        assert not any(name.startswith("aurora.engine.plan.") for name in imported(path)), path
    for path in modules("engine/plan"):
        assert not any(name.startswith("aurora.engine.spark") for name in imported(path)), path


@pytest.mark.parametrize("room", ["algebra", "network", "adapt"])
def test_the_lower_rooms_know_nothing_of_spark(room: str) -> None:
    for path in modules(room):
        assert not re.search(r"^\s*(?:import|from) pyspark", path.read_text(), re.MULTILINE), path


# The modules of `aurora.algebra` that are boxes, and those with other forms of some of them.
BOXES = (
    "aggregate",
    "bsort",
    "explode",
    "filter",
    "join",
    "map",
    "resample",
    "top",
    "union",
    "user",
    "wait",
    "variants.asof",
    "variants.asof_time",
    "variants.gather",
    "variants.kept_join",
    "variants.lookup",
    "variants.running",
    "variants.sessions",
)
# Where boxes are made, and where those that Spark has columns for are translated.
KNOW_BOXES = {
    "network/boxes.py",
    "network/joined.py",
    "network/windowed.py",
    "network/relations.py",
    "engine/columns.py",
}


def test_the_boxes_are_seen_at_a_glance() -> None:
    """What lies in the folder of the algebra itself is a box; all else lies in folders there."""
    for folder, prefix in ((ROOT / "algebra", ""), (ROOT / "algebra" / "variants", "variants.")):
        found = {f"{prefix}{path.stem}" for path in folder.glob("*.py")} - {f"{prefix}__init__"}
        assert found == {name for name in BOXES if name.rpartition(".")[0] == prefix.rstrip(".")}


@pytest.mark.parametrize("room", ["network", "engine"])
def test_boxes_are_known_by_what_they_say(room: str) -> None:
    """Who plans or runs boxes asks them; none is recognised by its class, so none is forgotten."""
    classes = {f"aurora.algebra.{name}" for name in BOXES}
    for path in modules(room):
        where = str(path.relative_to(ROOT))
        assert where in KNOW_BOXES or not imported(path) & classes, f"{where} knows a class of boxes"
        asked = [found for found in ladders(path) if found in OPERATORS or found == "Operator"]
        assert asked == [], f"{where} asks whether a box is one of {asked}"


OPERATORS = {
    node.name
    for name in BOXES
    for node in ast.parse(
        (ROOT / "algebra" / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8")
    ).body
    if isinstance(node, ast.ClassDef)
}


def ladders(path: Path) -> list[str]:
    """The names of the classes that a module tells apart by isinstance or by a class pattern."""
    found: list[ast.expr] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            found.append(node.args[1])
        elif isinstance(node, ast.MatchClass):
            found.append(node.cls)
    return [each.id for expression in found for each in ast.walk(expression) if isinstance(each, ast.Name)]


def test_public_names_and_their_methods_have_a_docstring() -> None:
    missing = []
    for name in aurora.__all__:
        value = getattr(aurora, name)
        # A dataclass without one gets its signature as a docstring.
        if not value.__doc__ or value.__doc__.startswith(f"{name}("):
            missing.append(name)
        for key in dir(value) if inspect.isclass(value) and value.__module__.startswith("aurora") else ():
            found = inspect.getattr_static(value, key)
            found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
            if not key.startswith("_") and inspect.isfunction(found) and not found.__doc__:
                missing.append(f"{name}.{key}")
    assert missing == []


def test_the_public_names_are_those_of_the_manual() -> None:
    manual = (ROOT.parent / "docs" / "python.md").read_text()
    table = manual.split("\n## The names\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)", table, re.MULTILINE)
    assert sorted(listed) == sorted(aurora.__all__)
    assert [name for name in aurora.__all__ if not hasattr(aurora, name)] == []


def test_every_module_says_what_it_exports() -> None:
    """Modules with public functions or classes have an `__all__`."""
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        public = {name for name in defined if not name.startswith("_")}
        listed = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
        ]
        if public and not listed and path.name not in ("errors.py", "main.py"):
            wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []
