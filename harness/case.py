"""A case: one documented issue, one self-contained file whose header says what it expects.

The header is inline script metadata (PEP 723) with a ``[tool.pt2bugs]`` table; it is read without
importing the file. Everything wrong with a file is one `CaseError` that names file, line and key.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from harness.extras import EXTRAS
from harness.garbage import no_collection
from harness.outcome import BAD, Outcome
from harness.pool import map_in_processes

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest itself depends on tomli there
    import tomli as tomllib

COMPONENTS = (
    "dynamo",
    "aotautograd",
    "functionalization",
    "fake-tensor",
    "dynamic-shapes",
    "decomposition",
    "inductor",
    "export",
    "functorch",
    "fx",
    "backend",
)
SYMPTOMS = (
    "graph-break",
    "backend-failure",
    "recompilation",
    "wrong-result",
    "internal-error",
    "crash",
    "hang",
    "memory",
    "triton",
    "missing-error",
)
PARAMETERS = ("device", "backend")
DEFAULT_TIMEOUT_S = 60.0
DEFAULT_MEMORY_MIB = 4096

# The reference expression of PEP 723, restricted to the `script` type.
_BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_HEAD = re.compile(r"(?:#.*\n|\s*\n)*?# /// script\s*\n")

_CASE_KEYS: dict[str, type | tuple[type, ...]] = {
    "issue": str,
    "fix": str,
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
}
_REQUIRED = ("issue", "title", "component", "symptom")
_BUG_KEYS: dict[str, type | tuple[type, ...]] = {
    "torch": str,
    "device": str,
    "backend": str,
    "check": str,
    "python": str,
    "outcome": str,
    "error": str,
    "match": str,
    "signal": str,
    "blocked": bool,
}


class CaseError(Exception):
    """A case file that breaks the contract.

    Cause: an unknown key or word, a specifier that does not parse, a missing check, a duplicate id.
    Remedy: the message says which file, line and key, and what would be accepted there.
    """

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        self.path, self.line, self.problem = path, line, problem
        where = f"{path}:{line}" if line else f"{path}"
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[type[CaseError], tuple[Path, int | None, str]]:
        # The default would make a copy from the message alone.
        return type(self), (self.path, self.line, self.problem)


@dataclass(frozen=True)
class Bug:
    """One ``[[tool.pt2bugs.bug]]`` entry: where the bug is present, and what it looks like there."""

    outcome: Outcome
    torch: SpecifierSet = field(default_factory=SpecifierSet)
    device: str | None = None
    backend: str | None = None
    check: str | None = None
    python: SpecifierSet = field(default_factory=SpecifierSet)
    error: str | None = None
    match: str | None = None
    signal: str | None = None
    blocked: bool = False
    line: int = 0

    @property
    def identity(self) -> str:
        """The documented identity on one line."""
        parts = [str(self.outcome), self.signal or "", self.error or ""]
        text = " ".join(part for part in parts if part)
        return f"{text} matching {self.match!r}" if self.match else text


@dataclass(frozen=True)
class Check:
    """A ``test_*`` function: its name, the parameters it takes (of `PARAMETERS`), its line."""

    name: str
    parameters: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Case:
    """One documented issue. `timeout` is in seconds, `memory` in MiB."""

    id: str
    path: Path
    issue: str
    title: str
    component: str
    symptom: str
    checks: tuple[Check, ...]
    hash: str
    fix: str = ""
    devices: tuple[str, ...] = ("cpu",)
    bugs: tuple[Bug, ...] = ()
    timeout: float = DEFAULT_TIMEOUT_S
    memory: int = DEFAULT_MEMORY_MIB
    requires_torch: SpecifierSet = field(default_factory=SpecifierSet)
    isolation: str = "fork"
    env: dict[str, str] = field(default_factory=dict)
    backends: tuple[str, ...] = ("inductor",)
    extra: str = ""
    compiles: bool = True
    guard: bool = False
    flaky: bool = False
    labels: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    requires_python: str = ""
    doc: str = ""

    def check(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def as_dict(self) -> dict[str, Any]:
        """The case for machines (`pt2bugs list --json`)."""
        return {
            "case": self.id,
            "path": self.path.as_posix(),
            "title": self.title,
            "issue": self.issue,
            "fix": self.fix,
            "component": self.component,
            "symptom": self.symptom,
            "labels": list(self.labels),
            "devices": list(self.devices),
            "backends": list(self.backends),
            "extra": self.extra,
            "checks": [check.name for check in self.checks],
            "requires_torch": str(self.requires_torch),
            "timeout": self.timeout,
            "memory": self.memory,
            "isolation": self.isolation,
            "compiles": self.compiles,
            "guard": self.guard,
            "flaky": self.flaky,
            "bugs": [
                {
                    "torch": str(bug.torch),
                    "outcome": str(bug.outcome),
                    **{
                        key: value
                        for key in ("device", "backend", "check", "error", "match", "signal")
                        if (value := getattr(bug, key))
                    },
                    **({"python": str(bug.python)} if str(bug.python) else {}),
                    **({"blocked": True} if bug.blocked else {}),
                }
                for bug in self.bugs
            ],
            "doc": self.doc,
            "case_hash": self.hash,
        }


class _Header:
    """Typed access to one table of the header; every failure knows its line."""

    def __init__(
        self,
        path: Path,
        table: dict[str, Any],
        keys: dict[str, type | tuple[type, ...]],
        name: str,
        lines: dict[str, int],
        line: int,
    ) -> None:
        self.path, self.table, self.name, self.lines, self.line = path, table, name, lines, line
        for key, value in table.items():
            if key not in keys:
                raise self.error(key, f"unknown key {key!r} in {name}{_did_you_mean(key, keys)}")
            expected = keys[key]
            if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
                raise self.error(key, f"{key} must be {_type_name(expected)}, not {value!r}")

    def error(self, key: str | None, problem: str) -> CaseError:
        return CaseError(self.path, self.lines.get(key or "", self.line), problem)

    def word(self, key: str, words: Sequence[str], default: str | None = None) -> str:
        value: str | None = self.table.get(key, default)
        if value is None:
            raise self.error(None, f"{self.name} needs a {key}: one of {', '.join(words)}")
        if value not in words:
            hint = _did_you_mean(value, words) or f": one of {', '.join(words)}"
            raise self.error(key, f"unknown {key} {value!r}{hint}")
        return value

    def specifiers(self, key: str) -> SpecifierSet:
        text = self.table.get(key, "")
        try:
            return _specifiers(text)
        except InvalidSpecifier:
            raise self.error(
                key, f'{key} = {text!r} is not a PEP 440 specifier set; write for example ">=2.4,<2.9"'
            ) from None

    def strings(self, key: str, default: Iterable[str] = ()) -> tuple[str, ...]:
        values = self.table.get(key, list(default))
        if not all(isinstance(value, str) and value for value in values):
            raise self.error(key, f"{key} must be a list of non-empty strings, not {values!r}")
        return tuple(dict.fromkeys(values))

    def url(self, key: str) -> str:
        value: str = self.table.get(key, "")
        if value and not re.fullmatch(r"https?://\S+", value):
            raise self.error(key, f"{key} must be a web address, not {value!r}")
        return value


@lru_cache(maxsize=4096)
def _specifiers(text: str) -> SpecifierSet:
    return SpecifierSet(text)


def _did_you_mean(word: str, words: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(words), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _type_name(expected: type | tuple[type, ...]) -> str:
    names = {str: "a string", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}
    return "a number" if isinstance(expected, tuple) else names[expected]


def is_case_file(path: Path) -> bool:
    """Whether the file starts with script metadata that speaks of us. An unreadable file does not."""
    if path.suffix != ".py":
        return False
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return _HEAD.match(text) is not None and "tool.pt2bugs" in text


def parse_case(path: Path) -> Case:
    """The case in `path`.

    Raises:
        CaseError: the file cannot be read, or breaks the contract.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(path, None, f"cannot be read: {error}") from None
    block = _BLOCK.search(text)
    if block is None:
        opened = re.search(r"(?m)^# /// script$", text)
        if opened is None:
            raise CaseError(path, 1, "no script metadata (PEP 723): the file needs a '# /// script' block")
        line = text.count("\n", 0, opened.start()) + 1
        raise CaseError(
            path,
            line,
            "the '# /// script' block has no closing '# ///', or a line in it does not start with '# '",
        )
    first = text.count("\n", 0, block.start()) + 2
    rows = block["content"].splitlines()
    source = "\n".join(row[2:] if row.startswith("# ") else row[1:] for row in rows) + "\n"
    try:
        metadata = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        line = first + int(at[1]) - 1 if at else first
        raise CaseError(path, line, f"the script metadata is not TOML: {error}") from None
    table = metadata.get("tool", {}).get("pt2bugs")
    if not isinstance(table, dict):
        raise CaseError(path, first, "the script metadata has no [tool.pt2bugs] table")
    case_lines, case_line, bug_lines = _locate(source, first)

    header = _Header(path, table, _CASE_KEYS, "[tool.pt2bugs]", case_lines, case_line)
    for key in _REQUIRED:
        if not table.get(key):
            raise header.error(None, f"[tool.pt2bugs] needs {key!r}")
    checks, doc = _read_program(path, text)
    devices = header.strings("devices", ("cpu",))
    backends = header.strings("backends", ("inductor",))
    if not devices:
        raise header.error("devices", "devices must name at least one device")
    if not backends:
        raise header.error("backends", "backends must name at least one backend")
    for key in ("timeout", "memory"):
        if key in table and table[key] <= 0:
            raise header.error(key, f"{key} must be greater than zero, not {table[key]!r}")
    env = table.get("env", {})
    if not all(isinstance(value, str) for value in env.values()):
        raise header.error("env", f"env must be a table of strings, not {env!r}")
    isolation = header.word("isolation", ("fork", "spawn"), "fork")

    bugs = []
    for index, entry in enumerate(table.get("bug", [])):
        lines, line = bug_lines[index] if index < len(bug_lines) else ({}, case_line)
        if not isinstance(entry, dict):
            raise CaseError(path, case_line, "bug must be written as [[tool.pt2bugs.bug]] entries")
        bugs.append(
            _parse_bug(
                _Header(path, entry, _BUG_KEYS, "[[tool.pt2bugs.bug]]", lines, line),
                checks,
                devices,
                backends,
            )
        )
    guard = table.get("guard", False)
    if guard and bugs:
        raise header.error("guard", "a guard is expected to pass everywhere: it has no bug entries")

    settings = {
        key: table.get(key) for key in ("timeout", "memory", "requires-torch", "isolation", "env", "compiles", "extra")
    }
    program = text[: block.start()] + text[block.end() :]
    digest = hashlib.sha256(f"{program}\0{json.dumps(settings, sort_keys=True)}".encode()).hexdigest()
    return Case(
        id=path.stem,
        path=path,
        issue=header.url("issue"),
        fix=header.url("fix"),
        title=table["title"],
        component=header.word("component", COMPONENTS),
        symptom=header.word("symptom", SYMPTOMS),
        checks=checks,
        hash=digest[:16],
        devices=devices,
        bugs=tuple(bugs),
        timeout=float(table.get("timeout", DEFAULT_TIMEOUT_S)),
        memory=table.get("memory", DEFAULT_MEMORY_MIB),
        requires_torch=header.specifiers("requires-torch"),
        # Variables that must be set before torch is imported need an interpreter of their own.
        isolation="spawn" if env else isolation,
        env=dict(env),
        backends=backends,
        extra=header.word("extra", tuple(EXTRAS), "") if table.get("extra") else "",
        compiles=table.get("compiles", True),
        guard=guard,
        flaky=table.get("flaky", False),
        labels=header.strings("labels"),
        dependencies=tuple(metadata.get("dependencies", ())),
        requires_python=metadata.get("requires-python", ""),
        doc=doc,
    )


def _parse_bug(header: _Header, checks: tuple[Check, ...], devices: tuple[str, ...], backends: tuple[str, ...]) -> Bug:
    table = header.table
    outcome = header.word("outcome", tuple(sorted(str(outcome) for outcome in BAD)))
    for key, words in (
        ("check", [check.name for check in checks]),
        ("device", devices),
        ("backend", backends),
    ):
        if key in table:
            header.word(key, words)
    if "match" in table:
        try:
            re.compile(table["match"])
        except re.error as error:
            raise header.error("match", f"match is not a regular expression: {error}") from None
    if "signal" in table:
        if outcome != "crash":
            raise header.error("signal", f'signal belongs to outcome = "crash", not to {outcome!r}')
        header.word("signal", [name.name for name in signal.Signals])
    return Bug(
        outcome=Outcome(outcome),
        torch=header.specifiers("torch"),
        device=table.get("device"),
        backend=table.get("backend"),
        check=table.get("check"),
        python=header.specifiers("python"),
        error=table.get("error"),
        match=table.get("match"),
        signal=table.get("signal"),
        blocked=table.get("blocked", False),
        line=header.line,
    )


def _locate(source: str, first: int) -> tuple[dict[str, int], int, list[tuple[dict[str, int], int]]]:
    """Line of every key: of the case table, and of each bug entry in order."""
    case: dict[str, int] = {}
    case_line = first
    bugs: list[tuple[dict[str, int], int]] = []
    keys: dict[str, int] | None = None
    for number, row in enumerate(source.splitlines(), first):
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


def _read_program(path: Path, text: str) -> tuple[tuple[Check, ...], str]:
    try:
        tree = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise CaseError(path, line, f"is not Python: {getattr(error, 'msg', error)}") from None
    checks: list[Check] = []
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not node.name.startswith("test_"):
            continue
        if isinstance(node, ast.AsyncFunctionDef):
            raise CaseError(path, node.lineno, f"check {node.name} must be a plain function, not async")
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = tuple(argument.arg for argument in arguments)
        for name in names:
            if name not in PARAMETERS:
                raise CaseError(
                    path,
                    node.lineno,
                    f"check {node.name} takes {name!r}; a check takes only the parameters "
                    f"{' and '.join(PARAMETERS)}{_did_you_mean(name, PARAMETERS)}",
                )
        if any(check.name == node.name for check in checks):
            raise CaseError(path, node.lineno, f"check {node.name} is defined twice")
        checks.append(Check(node.name, names, node.lineno))
    if not checks:
        raise CaseError(path, None, "has no check: write at least one function named test_*")
    return tuple(checks), (ast.get_docstring(tree) or "")


def find_case_files(roots: Iterable[Path]) -> Iterator[Path]:
    """Files with a header of ours under `roots` (files or folders), sorted; hidden folders are left out."""
    for root in roots:
        if root.is_file():
            yield root
            continue
        for path in sorted(root.rglob("*.py")):
            hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
            if not hidden and is_case_file(path):
                yield path


def load_cases(roots: Iterable[Path]) -> list[Case]:
    """Every case under `roots`, sorted by id.

    Raises:
        CaseError: a file breaks the contract, or two files have one id.
    """
    cases: dict[str, Case] = {}
    with no_collection():
        paths = list(dict.fromkeys(find_case_files(roots)))
        for case in map_in_processes(parse_case, paths, worth=len(paths) >= _MANY, chunksize=50):
            add_unique(cases, case)
    return [cases[id_] for id_ in sorted(cases)]


_MANY = 400
"""Files from which on it pays to start processes that parse them."""


def add_unique(cases: dict[str, Case], case: Case) -> None:
    """Put `case` into `cases` by its id.

    Raises:
        CaseError: another file has that id.
    """
    known = cases.setdefault(case.id, case)
    if known.path != case.path:
        raise CaseError(case.path, None, f"id {case.id!r} is taken by {known.path}; ids are unique, rename one file")


@dataclass(frozen=True)
class Selection:
    """Which cases are meant. The same everywhere; an empty field selects everything."""

    patterns: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def matches(self, case: Case) -> bool:
        return (
            (not self.patterns or any(fnmatchcase(case.id, pattern) for pattern in self.patterns))
            and (not self.components or case.component in self.components)
            and (not self.symptoms or case.symptom in self.symptoms)
            and (not self.labels or bool(set(self.labels) & set(case.labels)))
        )
