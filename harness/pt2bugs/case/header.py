"""Reads a case file: its header becomes a `Case`, and everything wrong with it one `CaseError`."""

from __future__ import annotations

import hashlib
import json
import math
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from pt2bugs.case.header_table import HeaderTable, Types, shown
from pt2bugs.case.model import (
    DEFAULT_MEMORY_MIB,
    DEFAULT_TIMEOUT_S,
    MAX_TIMEOUT_S,
    Bug,
    Case,
    CaseError,
    Check,
    Problem,
)
from pt2bugs.case.program import did_you_mean, read_program
from pt2bugs.case.script_block import decode, find_block, opening_line, read_regular
from pt2bugs.case.words import COMPONENTS, DEMANDS, EXTRAS, FAILURES, SYMPTOMS, Outcome

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_CASE_KEYS: dict[str, Types] = {
    "issue": str,
    "fix": str,
    "same-fix": str,
    "title": str,
    "component": str,
    "symptom": str,
    "devices": list,
    "bug": list,
    "timeout": (int, float),
    "memory": int,
    "requires-torch": str,
    "isolation": str,
    "env": dict,
    "backends": list,
    "extra": str,
    "compiles": bool,
    "guard": bool,
    "flaky": bool,
    "labels": list,
    "demands": (list, dict),
}
_REQUIRED = ("issue", "title", "component", "symptom")
_BUG_KEYS: dict[str, Types] = {
    "torch": str,
    "device": str,
    "backend": str,
    "check": str,
    "python": str,
    "outcome": str,
    "error": str,
    "match": str,
    "frame": str,
    "output": str,
    "platform": str,
    "signal": str,
    "blocked": bool,
}
_HASHED_SETTINGS = ("timeout", "memory", "requires-torch", "isolation", "env", "compiles", "extra")


def parse_case(path: Path) -> Case:
    """The case in `path`.

    Raises:
        CaseError: the file cannot be read, or breaks the contract.
    """
    try:
        text = decode(read_regular(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError.of(path, None, f"cannot be read: {error}") from None
    block = find_block(text)
    if block is None:
        opened = opening_line(text)
        if opened is None:
            raise CaseError.of(path, 1, "no script metadata (PEP 723): the file needs a '# /// script' block")
        problem = "the '# /// script' block has no closing '# ///', or a line in it does not start with '# '"
        raise CaseError.of(path, opened, problem)
    metadata = _parse_toml(path, block.toml, block.first_line)
    tool = metadata.get("tool")
    table = tool.get("pt2bugs") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        raise CaseError.of(path, block.first_line, "the script metadata has no [tool.pt2bugs] table")
    problems: list[Problem] = []
    checks, doc = read_program(text, problems)
    settings = {key: table.get(key) for key in _HASHED_SETTINGS}
    case_lines, case_line, bug_lines = _locate(block.toml, block.first_line)
    header = HeaderTable(table, _CASE_KEYS, "[tool.pt2bugs]", case_lines, case_line, problems)
    header.required(_REQUIRED)
    devices = header.some_of("devices", ("cpu",))
    backends = header.some_of("backends", ("inductor",))
    bugs = [
        _parse_bug(
            HeaderTable(entry, _BUG_KEYS, "[[tool.pt2bugs.bug]]", lines, line, problems), checks, devices, backends
        )
        for entry, (lines, line) in _entries(header, bug_lines, case_line)
    ]
    guard = header.get("guard", False)
    if guard and bugs:
        header.note("guard", "a guard is expected to pass everywhere: it has no bug entries")
    env = _environment(header)
    isolation = header.word("isolation", ("fork", "spawn"), "fork")
    case: dict[str, Any] = dict(  # noqa: C408 - reads as the arguments that it becomes
        issue=header.url("issue"),
        fix=header.url("fix"),
        same_fix=header.get("same-fix", ""),
        title=header.get("title", ""),
        component=header.word("component", COMPONENTS, ""),
        symptom=header.word("symptom", SYMPTOMS, ""),
        devices=devices,
        bugs=tuple(bugs),
        timeout=_timeout(header),
        memory=_memory(header),
        requires_torch=header.specifiers("requires-torch"),
        # Variables that must be set before torch is imported need an interpreter of their own.
        isolation="spawn" if env else isolation,
        env=env,
        backends=backends,
        extra=header.word("extra", EXTRAS, ""),
        compiles=header.get("compiles", True),
        guard=guard,
        flaky=header.get("flaky", False),
        labels=header.strings("labels"),
        demands=_demands(header, checks),
        dependencies=_dependencies(metadata, block.first_line, problems),
        requires_python=_requires_python(metadata, block.first_line, problems),
    )
    if problems:
        raise CaseError(path, problems)
    digest = hashlib.sha256(f"{block.program}\0{json.dumps(settings, sort_keys=True)}".encode()).hexdigest()
    return Case(id=path.stem, path=path, checks=checks, hash=digest[:16], doc=doc, **case)


def _parse_toml(path: Path, toml: str, first: int) -> dict[str, Any]:
    try:
        metadata: dict[str, Any] = tomllib.loads(toml)
        return metadata
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        line = first + int(at[1]) - 1 if at else first
        raise CaseError.of(path, line, f"the script metadata is not TOML: {error}") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits, brackets in brackets
        problem = f"the script metadata cannot be parsed: {error or type(error).__name__}"
        raise CaseError.of(path, first, problem) from None


def _entries(
    header: HeaderTable, bug_lines: Sequence[tuple[dict[str, int], int]], case_line: int
) -> list[tuple[dict[str, Any], tuple[dict[str, int], int]]]:
    entries = header.get("bug", [])
    if not all(isinstance(entry, dict) for entry in entries):
        header.note("bug", "bug must be written as [[tool.pt2bugs.bug]] entries")
        return []
    return [(e, bug_lines[i] if i < len(bug_lines) else ({}, case_line)) for i, e in enumerate(entries)]


def _parse_bug(table: HeaderTable, checks: Sequence[Check], devices: Sequence[str], backends: Sequence[str]) -> Bug:
    if "outcome" not in table:
        table.note(None, f"{table.name} needs an outcome: one of {', '.join(sorted(FAILURES))}")
    outcome = table.word("outcome", tuple(sorted(str(outcome) for outcome in FAILURES)), str(Outcome.WRONG))
    for key, allowed in (("check", [check.name for check in checks]), ("device", devices), ("backend", backends)):
        table.word(key, allowed, "")
    if "signal" in table and outcome != Outcome.CRASH:
        table.note("signal", f'signal belongs to outcome = "crash", not to {outcome!r}')
    elif "signal" in table:
        table.word("signal", [name.name for name in signal.Signals], "")
    return Bug(
        outcome=Outcome(outcome),
        torch=table.specifiers("torch"),
        device=table.text("device"),
        backend=table.text("backend"),
        check=table.text("check"),
        python=table.specifiers("python"),
        error=table.text("error"),
        match=table.pattern("match"),
        frame=table.pattern("frame"),
        output=table.pattern("output"),
        platform=table.text("platform"),
        signal=table.text("signal"),
        blocked=table.get("blocked", False),
        line=table.line,
    )


def _timeout(header: HeaderTable) -> float:
    value = header.get("timeout", DEFAULT_TIMEOUT_S)
    if not (math.isfinite(value) and 0 < value <= MAX_TIMEOUT_S):
        problem = f"timeout must be greater than zero seconds and at most a day ({MAX_TIMEOUT_S:g}), not {shown(value)}"
        header.note("timeout", problem)
        return DEFAULT_TIMEOUT_S
    return float(value)


def _memory(header: HeaderTable) -> int:
    value: int = header.get("memory", DEFAULT_MEMORY_MIB)
    if not 0 < value <= 1 << 30:
        header.note("memory", f"memory must be MiB, greater than zero, not {shown(value)}")
        return DEFAULT_MEMORY_MIB
    return value


def _environment(header: HeaderTable) -> dict[str, str]:
    env: dict[str, Any] = header.get("env", {})
    for name, value in env.items():
        if not isinstance(value, str):
            header.note("env", f"env must be a table of strings, not {shown(env)}")
            return {}
        if not name or "=" in name or "\0" in name or "\0" in value:
            header.note("env", f"env cannot set {shown(name)} to {shown(value)}: no '=' in a name, no NUL anywhere")
            return {}
    return dict(env)


def _demands(header: HeaderTable, checks: Sequence[Check]) -> dict[str, tuple[str, ...]]:
    """What each check demands: the same for all of them, or a table by check."""
    given = header.get("demands", [])
    by_check = given if isinstance(given, dict) else {check.name: given for check in checks}
    names = [check.name for check in checks]
    found: dict[str, tuple[str, ...]] = {}
    for name, demands in by_check.items():
        if name not in names:
            header.note("demands", f"demands names {shown(name)}, which is no check{did_you_mean(name, names)}")
            continue
        if not isinstance(demands, list) or not all(isinstance(word, str) for word in demands):
            header.note("demands", f"demands must be a list of words, not {shown(demands)}")
            break
        unknown = [word for word in demands if word not in DEMANDS]
        if unknown:
            hint = did_you_mean(unknown[0], DEMANDS) or f": there are {', '.join(DEMANDS)}"
            header.note("demands", f"unknown demand {shown(unknown[0])}{hint}")
            break
        found[name] = tuple(dict.fromkeys(demands))
    return found


def _dependencies(metadata: dict[str, Any], line: int, problems: list[Problem]) -> tuple[str, ...]:
    value = metadata.get("dependencies", [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        problems.append(Problem(line, f"dependencies must be a list of strings, not {shown(value)}"))
        return ()
    return tuple(value)


def _requires_python(metadata: dict[str, Any], line: int, problems: list[Problem]) -> str:
    value = metadata.get("requires-python", "")
    try:
        SpecifierSet(value)
        return str(value)
    except (ValueError, TypeError, AttributeError):
        problems.append(Problem(line, f"requires-python must be a PEP 440 specifier set, not {shown(value)}"))
        return ""


def _locate(source: str, first: int) -> tuple[dict[str, int], int, list[tuple[dict[str, int], int]]]:
    """Line of every key: of the case table, and of each bug entry in order."""
    case: dict[str, int] = {}
    case_line = first
    bugs: list[tuple[dict[str, int], int]] = []
    keys: dict[str, int] | None = None
    for number, row in enumerate(source.split("\n"), first):
        text = row.strip()
        if text.startswith("["):
            if re.match(r"\[\[\s*tool\.pt2bugs\.bug\s*\]\]", text):
                keys = {}
                bugs.append((keys, number))
            elif re.match(r"\[\s*tool\.pt2bugs\s*\]", text):
                keys, case_line = case, number
            elif inner := re.match(r"\[\s*tool\.pt2bugs\.([\w-]+)\s*\]", text):
                case[inner[1]] = number
                keys = None
            elif text.startswith("[["):
                keys = None
        elif keys is not None and (key := re.match(r"[\"']?([\w-]+)[\"']?\s*[.=]", text)):
            keys.setdefault(key[1], number)
    return case, case_line, bugs
