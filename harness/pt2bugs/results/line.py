"""The keys of a journal line: its cell, its row of the matrix and its environment, and the order of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from packaging.version import Version
from pt2bugs.case.cells import CellName
from pt2bugs.case.expectation import Where, pinned
from pt2bugs.case.model import Case
from pt2bugs.case.private import private_extras
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import EXTRAS, TORCH_BACKENDS, Verdict
from pt2bugs.results.journal import Record


class MatrixRow(NamedTuple):
    """Key of a row of the matrix: a cell, and what was installed beside torch."""

    case: str
    check: str
    device: str
    backend: str
    extras: str

    @property
    def cell(self) -> CellName:
        """The cell without its environment."""
        return CellName(*self[:4])


class CellEnvironment(NamedTuple):
    """Key of the environment of a line."""

    extras: str
    torch: str
    python: str


class CellKey(NamedTuple):
    """Key of the cell of a line; `extras` are joined by ``+``, `torch` is public, `python` a minor version."""

    case: str
    check: str
    device: str
    backend: str
    extras: str
    torch: str
    python: str

    @property
    def cell(self) -> CellName:
        """The cell without its environment."""
        return CellName(*self[:4])

    @property
    def row(self) -> MatrixRow:
        """Its row of the matrix."""
        return MatrixRow(*self[:5])

    @property
    def environment(self) -> CellEnvironment:
        """The environment without the cell."""
        return CellEnvironment(*self[4:])


def cell_key(record: Record) -> CellKey:
    """Return the key of the cell of a journal line.

    Args:
        record: the line.
    """
    case, check, device, backend, extras, torch, python = _key_values(record)
    return CellKey(
        case, check, device, backend, "+".join(extras) if extras else "", public_or_empty(torch), python_minor(python)
    )


_key_values = itemgetter("case", "check", "device", "backend", "extras", "torch", "python")


@lru_cache(maxsize=4096)
def version_key(version: str) -> Version:
    """Return the key by which versions are sorted.

    Args:
        version: empty stands before all.
    """
    return Version(version or "0")


def sorted_keys(lines: Iterable[CellKey]) -> list[CellKey]:
    """Return cells by case, check, device, backend and extras, then in version order.

    Args:
        lines: in any order.
    """
    keys = list(lines)
    # A few dozen versions among many cells: put them in order once.
    there = {version for key in keys for version in (key.torch, key.python)}
    versions = sorted(there, key=lambda text: (version_key(text), text))
    place = {version: number for number, version in enumerate(versions)}
    # The values of `key.row`, of which the sort needs no objects.
    return sorted(keys, key=lambda key: (key[:5], place[key.torch], place[key.python]))


def matrix_value(verdict: str, outcome: str) -> str:
    """Return a cell of the matrix: the verdict, and how it failed where it failed as documented.

    Args:
        verdict: of the line.
        outcome: of the line.
    """
    return f"xfail:{outcome}" if verdict == Verdict.XFAIL else verdict


@lru_cache(maxsize=4096)
def python_minor(version: str) -> str:
    """Return ``3.11`` for ``3.11.7``.

    Args:
        version: of Python.
    """
    return ".".join(version.split(".")[:2])


def ranks_of(pythons: Iterable[str]) -> dict[str, tuple[int, Version]]:
    """Return the rank of each Python among those of answers: a table shows the usual one, the newer of two alike.

    A column of another Python that is measured beside the usual one so changes no table, however few cells it has.

    Args:
        pythons: minor versions, one for each answer.
    """
    return {python: (count, Version(python or "0")) for python, count in Counter(pythons).items()}


def is_complete(record: Record) -> bool:
    """Return whether a line closes its cell: the last repeat, and not an error of the environment.

    Args:
        record: the line.
    """
    return bool(record["repeat"] >= record["repeats"]) and record["verdict"] != Verdict.ERROR


def where_of(record: Record) -> Where:
    """Return the environment of a line, as far as expectations depend on it.

    Args:
        record: the line.
    """
    return Where(
        torch=public_or_empty(record["torch"]) or "0",
        python=record["python"] or "0",
        device=record["device"],
        backend=record["backend"],
        platform=record["platform"],
        capability=record["cpu_capability"],
        packages=pinned(record["extras"]) if record["extras"] else (),
    )


def is_own(record: Record, case: Case | None) -> bool:
    """Return whether a line is kept with the corpus's own.

    Args:
        record: of a backend that the header names, without packages that a user named, or with those that the
            backend comes with: then it is.
        case: the case; None if it has no file.
    """
    if case is None:
        return True
    is_alone = set(record["extras"]) <= {*EXTRAS, *private_extras()}
    return record["backend"] in case.backends and (is_alone or record["backend"] not in TORCH_BACKENDS)


def builds_of(lines: Mapping[CellKey, Record]) -> dict[str, list[str]]:
    """Return the builds of each release, as ``+cpu`` or ``+cu126``; those from a plain index have none.

    Args:
        lines: by cell.
    """
    builds: dict[str, set[str]] = {}
    for key, record in lines.items():
        if key.torch:
            _, plus, local = record["torch"].partition("+")
            builds.setdefault(key.torch, set()).add(plus + local)
    return {release: sorted(of_release) for release, of_release in builds.items()}


def mixed_builds(builds: Mapping[str, Iterable[str]]) -> str:
    """Return a sentence if releases were measured as builds of different kinds (CPU, CUDA, ROCm), else nothing.

    A CUDA version is no kind: each release has its own.

    Args:
        builds: of each release.
    """
    kinds: dict[str, list[str]] = {}
    for release, of_release in builds.items():
        for build in of_release:
            kind = re.sub(r"[\d.]+$", "", build.removeprefix("+")) or "plain"
            kinds.setdefault({"cu": "CUDA", "cpu": "CPU", "rocm": "ROCm"}.get(kind, kind), []).append(release)
    if len(kinds) < 2:
        return ""
    few_first = sorted(kinds.items(), key=lambda item: len(item[1]))
    told = [f"{kind} builds of {', '.join(releases)}" for kind, releases in few_first[:-1]]
    return f"builds of different kinds are mixed: {'; '.join(told)}; {few_first[-1][0]} builds of the others"
