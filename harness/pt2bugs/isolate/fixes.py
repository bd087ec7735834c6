"""`results/fixes`: what is known of the changes that fixed or broke a check, one file for each case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from pt2bugs.case.header import read_regular
from pt2bugs.case.toml import parse_toml
from pt2bugs.errors import InputError
from pt2bugs.files import FileError, listed, write_text

SCHEMA = 1
FOLDER = "fixes"
EVIDENCE = ("cited", "executed", "swap", "patch", "proved")
"""Evidence of an isolation, the weakest first: a pull request that the header names, changed functions that ran,
functions swapped in memory, text in fresh processes, and a proof."""
LABELS = ("python", "header", "native", "mixed", "several", "unknown")
THREADS = "threads.toml"
"""In the same folder, written by hand: for the address of a pull request, `names`, the files and functions that its
thread names as changed."""
_QUESTION = ("case", "check", "device", "backend", "bad", "good", "direction")


class FixesError(InputError):
    """A file of `results/fixes` that cannot be read.

    Cause: it was edited by hand, or written by a newer pt2bugs.
    Remedy: the message names the file; ``pt2bugs isolate`` writes it anew where it is gone.
    """


def load(results: Path) -> Iterator[dict[str, Any]]:
    """Yield every isolation of a results folder, by case.

    Args:
        results: the folder that has `fixes`.

    Raises:
        FixesError: a file cannot be read.
    """
    for path in listed(results / FOLDER, ".json"):
        yield from _read(path)


def of_case(results: Path, case: str) -> list[dict[str, Any]]:
    """Return the isolations of a case.

    Args:
        results: the folder that has `fixes`.
        case: its id.

    Raises:
        FixesError: its file cannot be read.
    """
    path = results / FOLDER / f"{case}.json"
    return _read(path) if path.exists() else []


def cause(isolation: Mapping[str, Any]) -> str:
    """Return an isolation as ``fixed in 2.13.0 by a change of FILE: FUNCTION (proved)``; empty if it names nothing.

    Args:
        isolation: as `Isolation.as_dict` has it.
    """
    release = isolation["good"] if isolation["direction"] == "fixed" else isolation["bad"]
    named = sentence(isolation)
    return f"{isolation['direction']} in {release} {named}" if named else ""


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise FixesError(f"{path}: cannot be read: {error}") from None
    isolations = data.get("isolations") if isinstance(data, dict) else None
    if isolations is None or data.get("schema") != SCHEMA or not isinstance(isolations, list):
        raise FixesError(f"{path}: is no file of isolations of schema {SCHEMA}")
    if problem := _problem(isolations):
        raise FixesError(f"{path}: {problem}")
    return isolations


def _problem(isolations: list[Any]) -> str:
    """Return why a file has no isolations that can be worked with; empty if it has."""
    import msgspec

    try:
        msgspec.convert(isolations, _shape())
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError) as error:
        return f"is no isolation: {error}"
    unknown = [isolation["evidence"] for isolation in isolations if isolation["evidence"] not in EVIDENCE]
    if unknown:
        return f"unknown evidence {unknown[0]!r}"
    # A hotfix writes there, and results may be another's.
    files = [unit["file"] for isolation in isolations for unit in isolation["units"]]
    outside = [file for file in files if ".." in PurePosixPath(file).parts or file.startswith("/")]
    return f"{outside[0]!r} is no file in the torch folder" if outside else ""


@cache
def _shape() -> Any:
    """Return the type of the isolations of a file, for msgspec."""
    # Here, as most commands that could need it find no file.
    import msgspec

    unit = msgspec.defstruct(
        "Unit", [("file", str), ("qualname", str), ("kind", str), ("hunks", list[int] | None, None)]
    )
    isolation = msgspec.defstruct(
        "Isolation",
        [
            *((key, str) for key in (*_QUESTION, "evidence")),
            ("units", list[unit]),  # type: ignore[valid-type]
            ("alternatives", list[list[unit]], []),  # type: ignore[valid-type]
            *((key, str | None, None) for key in ("label", "reason", "patch_sha256", "pull_request")),
            *((key, float, 0.0) for key in ("trials", "seconds")),
            *(
                (key, list[int | None], [])
                for key in ("graphs", "breaks", "red_to_green", "stayed_green", "candidates")
            ),
            *((key, list[str], []) for key in ("builds", "unrelated")),
        ],
    )
    return list[isolation]  # type: ignore[valid-type]


def threads(results: Path) -> dict[str, frozenset[str]]:
    """Return the files and functions that the threads of pull requests name, by address, of those that were read.

    Args:
        results: the folder that has `fixes`.

    Raises:
        FixesError: the file cannot be read.
    """
    path = results / FOLDER / THREADS
    if not path.exists():
        return {}
    try:
        read = parse_toml(path.read_text(encoding="utf-8"))
        return {address: frozenset(thread["names"]) for address, thread in read.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FixesError(f"{path}: cannot be read: {error}") from None


def is_named(isolation: Mapping[str, Any], names: Mapping[str, frozenset[str]]) -> bool | None:
    """Return whether the thread of its pull request names a unit, by file or function; None if it was not read.

    Args:
        isolation: as `Isolation.as_dict` has it.
        names: as `threads` returns them.
    """
    told = names.get(isolation.get("pull_request") or "")
    if told is None or not isolation["units"]:
        return None
    return any(unit["file"] in told or unit["qualname"].rpartition(".")[2] in told for unit in isolation["units"])


def save(results: Path, isolations: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Add isolations to the files of their cases, and return those that were written.

    An answer to the same question replaces an older one unless its evidence is weaker. What is known of threads is
    entered in all of them.

    Args:
        results: the folder that has `fixes`.
        isolations: as `Isolation.as_dict` has them.

    Returns:
        The files, by case in the order in which the cases came.

    Raises:
        FixesError: a file that is there cannot be read.
        FileError: a file cannot be written.
    """
    # Here, as most commands only read.
    from filelock import FileLock

    by_case: dict[str, list[Mapping[str, Any]]] = {}
    for isolation in isolations:
        by_case.setdefault(isolation["case"], []).append(isolation)
    names = threads(results)
    try:
        results.mkdir(parents=True, exist_ok=True)
        # Two isolations of one case may end at the same time.
        with FileLock(results / f"{FOLDER}.lock"):
            return [_save(results, case, new, names) for case, new in by_case.items()]
    except OSError as error:
        raise FileError(f"{results / FOLDER}: cannot be written: {error.strerror or error}") from None


def _save(
    results: Path, case: str, isolations: Iterable[Mapping[str, Any]], names: Mapping[str, frozenset[str]]
) -> Path:
    """Add isolations to the file of a case, and return its path."""
    known = {_question(isolation): isolation for isolation in of_case(results, case)}
    for isolation in isolations:
        before = known.get(_question(isolation))
        if before is None or EVIDENCE.index(isolation["evidence"]) >= EVIDENCE.index(before["evidence"]):
            known[_question(isolation)] = dict(isolation)
    for isolation in known.values():
        isolation["named_in_pull_request"] = is_named(isolation, names)
    path = results / FOLDER / f"{case}.json"
    data = {"schema": SCHEMA, "isolations": [known[key] for key in sorted(known)]}
    write_text(path, json.dumps(data, indent=1) + "\n")
    return path


def _question(isolation: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(isolation[key]) for key in _QUESTION)


def sentence(isolation: Mapping[str, Any]) -> str:
    """Return an isolation as half a sentence: what it names, and on what evidence; empty if it names nothing.

    Args:
        isolation: as `Isolation.as_dict` has it.
    """
    if isolation["evidence"] not in ("patch", "proved") or not isolation["units"]:
        return ""
    named = ", ".join(f"{unit['file']}: {unit['qualname']}".removesuffix(": ") for unit in isolation["units"][:3])
    more = f" and {len(isolation['units']) - 3} more" if len(isolation["units"]) > 3 else ""
    return f"by a change of {named}{more} ({isolation['evidence']})"
