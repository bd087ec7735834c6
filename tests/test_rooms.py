"""Which room may import what, and what the half that runs inside every environment may need."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "harness" / "pt2bugs"
TRAVELS = (
    "pt2bugs.engine.",
    "pt2bugs.triage.inside.",
    "pt2bugs.isolate.inside",
    "pt2bugs.repair.inside",
    "pt2bugs.speed.inside",
    "pt2bugs.upgrade.inside.",
)
"""Packages that run in the processes of an engine. They need nothing but the standard library: of a named interpreter
only torch is asked for. What a request of kind ``call`` names is one of them."""

BELOW = {
    "case": {"errors", "files"},
    "engine": {"case", "errors", "files"},
    "results": {"case", "errors", "files"},
    "envs": {"case", "engine", "errors", "files"},
    "run": {"case", "engine", "results", "envs", "errors", "files"},
    "bisect": {"case", "results", "envs", "run", "errors", "files"},
    "curate": {"case", "engine", "results", "envs", "run", "bisect", "errors", "files"},
    "backends": {"case", "engine", "results", "envs", "run", "bisect", "errors", "files"},
    "match": {"case", "engine", "results", "isolate", "errors"},
    "triage": {
        "match",
        "case",
        "engine",
        "results",
        "envs",
        "run",
        "bisect",
        "curate",
        "report",
        "errors",
        "files",
    },
    "isolate": {"case", "engine", "results", "envs", "run", "errors", "files"},
    "upgrade": {"case", "engine", "results", "envs", "run", "triage", "isolate", "match", "report", "errors", "files"},
    "speed": {"case", "engine", "results", "run", "bisect", "errors", "files"},
    "cluster": {"case", "engine", "results", "envs", "run", "errors", "files"},
    "report": {"case", "results", "isolate", "bisect", "run", "backends", "errors", "files"},
    "export": {"case", "results", "bisect", "report", "errors", "files"},
    "dataset": {"case", "results", "isolate", "errors", "files"},
    "repair": {"case", "engine", "envs", "isolate", "run", "errors", "files"},
}
"""The rooms that each room may import: those below it."""


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(path: Path) -> str:
    return path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def imported_with(path: Path) -> Iterator[str]:
    """The modules of ours whose import the import of a file begins with; not what a function of it imports later."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = [name for alias in node.names if (name := f"{node.module}.{alias.name}") in MODULES]
            yield from inside or [name for name in [node.module] if name in MODULES]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)


def everything_imported_with(names: Iterable[str]) -> set[str]:
    imported: set[str] = set()
    left = set(names)
    while left:
        imported |= left
        left = {other for name in left for other in imported_with(MODULES[name])} - imported
    return imported


INSIDE = everything_imported_with(
    [
        "pt2bugs.results.journal",
        "pt2bugs.run.measurement",
        *(name for name in MODULES if name.startswith(("pt2bugs.case.", *TRAVELS))),
    ]
)
"""What measures cells, with all that it imports: it runs in every environment, with no more than packaging there."""


def test_every_room_has_its_arrows() -> None:
    """The commands are the front, and may import every room."""
    assert {path.parent.name for path in PACKAGE.glob("*/*.py")} == {*BELOW, "commands"}


ARCHITECTURE = (ROOT / "docs" / "concepts" / "architecture.md").read_text(encoding="utf-8")


def test_the_page_has_every_room_and_every_file_beside_them() -> None:
    _, _, tree = ARCHITECTURE.partition("\nharness/pt2bugs/\n")
    lines = tree.partition("```")[0].splitlines()
    told = [name for line in lines for name in re.findall(r"(?:^  |   )(\w+(?:/|\.py)) ", line)]
    files = [path.name for path in PACKAGE.glob("*.py") if path.stem != "__init__"]
    rooms = {f"{path.parent.name}/" for path in PACKAGE.glob("*/*.py")}
    assert sorted(told) == sorted([*files, *rooms])


def test_the_page_says_what_runs_inside_an_environment() -> None:
    (told,) = re.findall(r"the half that runs inside every environment \((.*?)\)", ARCHITECTURE, re.DOTALL)
    names = {name.removeprefix("pt2bugs.").replace(".", "/") for name in INSIDE} - {"pt2bugs"}
    assert set(re.findall(r"`([\w/]+)`", told)) == {
        next(
            (room for room in ("case", "engine", "triage/inside", "upgrade/inside") if name.startswith(f"{room}/")),
            name,
        )
        for name in names - {"triage", "isolate", "upgrade"}
    }


@pytest.mark.parametrize("room", sorted(BELOW))
def test_arrows_point_down(room: str) -> None:
    allowed = {room, *BELOW[room]}
    for path in (PACKAGE / room).rglob("*.py"):
        for name in imports_of(path):
            parts = name.split(".")
            if parts[0] == "pt2bugs" and len(parts) > 1 and parts[1] != "__version__":
                assert parts[1] in allowed, f"{path.relative_to(ROOT)} imports {name}"


FRONT = {PACKAGE / "cli.py", PACKAGE / "api.py", *(PACKAGE / "commands").rglob("*.py")}


def test_only_the_front_imports_a_command() -> None:
    """What the plugins and the rooms share with a command stands in a room. A function of `api` is a verb unprinted."""
    for path in {*PACKAGE.rglob("*.py")} - FRONT:
        for name in imports_of(path):
            assert not name.startswith("pt2bugs.commands"), f"{path.relative_to(ROOT)} imports {name}"


_SCRIPT = """
import importlib, importlib.abc, sys
allowed = {allowed!r} | set(sys.stdlib_module_names) | {{"pt2bugs"}}
class Wall(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ImportError(f"{{name}} is not for the inside of an environment")
sys.meta_path.insert(0, Wall())
sys.path.insert(0, {harness!r})
importlib.import_module({module!r})
"""


def imports_alone(module: str, *allowed: str) -> subprocess.CompletedProcess[str]:
    """Import a module in a new Python that has nothing but the standard library and what is allowed."""
    script = _SCRIPT.format(allowed=set(allowed), harness=str(PACKAGE.parent), module=module)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", sorted(INSIDE))
def test_imports_inside_an_environment(module: str) -> None:
    needs = () if module.startswith(TRAVELS) else ("packaging", "tomli", "regex")
    done = imports_alone(module, *needs)
    assert done.returncode == 0, done.stderr


def test_the_wall_holds() -> None:
    assert "packaging is not for the inside" in imports_alone("pt2bugs.case.header").stderr


def test_the_plugin_takes_pytest_and_no_more() -> None:
    done = imports_alone(
        "pt2bugs.plugin", "packaging", "tomli", "regex", "pytest", "_pytest", "pluggy", "iniconfig", "pygments", "py",
        "exceptiongroup", "typing_extensions",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_syntax_of_the_oldest_python() -> None:
    """Everything parses as Python 3.10, the oldest we support."""
    for path in [*ROOT.glob("harness/**/*.py"), *ROOT.glob("cases/**/*.py")]:
        ast.parse(path.read_text(), feature_version=(3, 10))


def test_files_that_the_page_names_are_there() -> None:
    names = re.findall(r"`([\w/]+/[\w/]+\.(?:py|toml))`", ARCHITECTURE)
    assert [name for name in names if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []
