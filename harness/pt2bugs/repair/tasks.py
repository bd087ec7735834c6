"""Tasks: the bugs whose fix is proved by an isolation, each with the hidden checks that are written for it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.model import Case
from pt2bugs.case.selectors import cases_named
from pt2bugs.errors import InputError
from pt2bugs.isolate import fixes

HIDDEN = Path(__file__).parent / "hidden"
"""A file of probes for each task, and those that every task has."""
UNRELATED = HIDDEN / "unrelated.py"
SMOKE = HIDDEN / "smoke.py"
TASK = "task"
MIN_TWINS = 2


@dataclass(frozen=True)
class Probe:
    """A function of a file below `HIDDEN`: it compiles something, calls it, and returns what came out."""

    path: Path
    name: str
    backend: str


@dataclass(frozen=True)
class Task:
    """A case whose fix between two releases is proved."""

    case: Case
    isolation: Mapping[str, Any]

    @property
    def id(self) -> str:
        """That of the case."""
        return self.case.id

    @property
    def bad(self) -> str:
        """The release to repair."""
        return str(self.isolation["bad"])

    @property
    def good(self) -> str:
        """The release that has the fix."""
        return str(self.isolation["good"])

    @property
    def backend(self) -> str:
        """The backend of the proof."""
        return str(self.isolation["backend"])

    @property
    def cell(self) -> Cell:
        """The check of the proof."""
        cells = cells_of(self.case, (self.isolation["device"],), (self.backend,))
        return next(cell for cell in cells if cell.check.name == self.isolation["check"])

    @cached_property
    def probes(self) -> Sequence[Probe]:
        """The hidden checks: the program itself on its own and on new values, and its twins."""
        return probes_of(HIDDEN / f"{self.id}.py", self.backend)

    @property
    def twins(self) -> int:
        """The number of hidden checks beside the program itself."""
        return sum(probe.name != TASK for probe in self.probes)

    @property
    def can_be_scored(self) -> bool:
        """True if the hidden checks are written."""
        return self.twins >= MIN_TWINS and any(probe.name == TASK for probe in self.probes)

    @cached_property
    def program(self) -> str:
        """The program alone: without header, docstrings, comments and other checks."""
        return _program(self.case.path.read_text(encoding="utf-8"), self.cell)

    def as_dict(self) -> dict[str, Any]:
        """Return what a list tells of it: nothing about the fix."""
        return {
            "task": self.id,
            "torch": self.bad,
            "device": self.isolation["device"],
            "backend": self.backend,
            "component": self.case.component,
            "symptom": self.case.symptom,
            "fixed_in": self.good,
            "twins": self.twins,
        }


def probes_of(path: Path, backend: str) -> list[Probe]:
    """Return the probes of a file in their order; none where there is no file.

    Args:
        path: of the file.
        backend: on which they run.
    """
    if not path.exists():
        return []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [Probe(path, name, backend) for name in names if name.startswith(("task", "twin_", "unrelated_", "smoke_"))]


def tasks_of(results: Path, corpus: Iterable[Case]) -> list[Task]:
    """Return the tasks, by case.

    Args:
        results: the folder that has `fixes`.
        corpus: all cases.

    Raises:
        FixesError: an isolation cannot be read.
    """
    cases = {case.id: case for case in corpus}
    tasks: dict[str, Task] = {}
    for isolation in fixes.load(results):
        is_proved = isolation["evidence"] == "proved" and isolation["direction"] == "fixed"
        if is_proved and isolation["case"] in cases and isolation["device"] == "cpu":
            tasks.setdefault(isolation["case"], Task(cases[isolation["case"]], isolation))
    return list(tasks.values())


def task_named(name: str, tasks: Sequence[Task], corpus: Sequence[Case]) -> Task:
    """Return the task that a word means: an id, or the number of an issue.

    Args:
        name: the word.
        tasks: all of them.
        corpus: all cases.

    Raises:
        InputError: it means no task.
    """
    ids = {case.id for case in cases_named(name, corpus)}
    meant = [task for task in tasks if task.id in ids]
    if len(meant) != 1:
        raise InputError(f"{name}: is no task; `pt2bugs repair list` shows the {len(tasks)} that there are")
    return meant[0]


def _program(text: str, cell: Cell) -> str:
    """Return the text of a case as a program that calls one check; what `ast` writes has no comments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and _is_docstring(body):
            node.body = node.body[1:] or [ast.Pass()]
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and node.name != cell.check.name)
        and not (isinstance(node, ast.If) and "__name__" in ast.unparse(node.test))
    ]
    values = {"device": cell.device, "backend": cell.backend}
    arguments = ", ".join(f"{name}={values[name]!r}" for name in cell.check.parameters)
    return f'{ast.unparse(tree)}\n\nif __name__ == "__main__":\n    {cell.check.name}({arguments})\n'


def _is_docstring(body: Any) -> bool:
    first = body[0] if body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
