"""The half that runs inside an environment imports nothing an environment may lack."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INSIDE = (
    "outcome",
    "case",
    "extras",
    "expectation",
    "places",
    "plan",
    "pool",
    "journal",
    "isolation",
    "cell",
    "warmup",
    "files",
    "plugin",
)
ALLOWED = {
    "harness",
    "pytest",
    "_pytest",
    "pytest_forked",
    "pytest_timeout",
    "packaging",
    # What pytest itself brings along.
    "py",
    "pluggy",
    "iniconfig",
    "pygments",
    "tomli",
    "exceptiongroup",
    "typing_extensions",
}

_SCRIPT = """
import importlib.abc, sys
allowed = set({allowed!r}) | set(sys.stdlib_module_names)
class Wall(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ImportError(f"{{name}} is not for the inside of an environment")
sys.meta_path.insert(0, Wall())
import importlib
importlib.import_module("harness.{module}")
"""


@pytest.mark.parametrize("module", INSIDE)
def test_imports_inside_an_environment(module: str) -> None:
    script = _SCRIPT.format(allowed=sorted(ALLOWED), module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_syntax_of_the_oldest_python() -> None:
    """Everything parses as Python 3.10, the oldest we support."""
    import ast

    root = Path(__file__).parent.parent
    for path in [*root.glob("harness/**/*.py"), *root.glob("cases/**/*.py")]:
        ast.parse(path.read_text(), feature_version=(3, 10))
