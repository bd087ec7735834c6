"""Reads a case file: its header becomes a `Case`, and everything wrong with it one `CaseError`.

The header is inline script metadata (PEP 723), found line by line, so that no text takes more than linear time.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import math
import re
import signal
import stat
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
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
from pt2bugs.case.patterns import NOT_A_PATTERN, compiled
from pt2bugs.case.private import settings_beside
from pt2bugs.case.program import did_you_mean, read_program, without_benches
from pt2bugs.case.toml import TOMLDecodeError, parse_toml
from pt2bugs.case.vocabulary import COMPONENTS, DEMANDS, EXTRAS, FAILURES, KINDS, SYMPTOMS, UPSTREAM, Outcome

OPENING, CLOSING = "# /// script", "# ///"
TABLE = "tool.pt2bugs"


Types = type | tuple[type, ...]
PATTERNS = ("match", "frame", "output")
"""Keys of an entry that are regular expressions: those may hold a line break."""
_TYPE_NAMES: dict[Types, str] = {
    str: "a string",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
    (int, float): "a number",
    (list, dict): "a list or a table",
    (str, date): "a day",
}


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
    "kind": str,
    "upstream": str,
    "upstream-seen": (str, date),
    "reported-on": str,
    "found-beside": str,
    "network": bool,
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
    "packages": dict,
}
_HASHED_SETTINGS = ("timeout", "memory", "requires-torch", "isolation", "env", "compiles", "extra")


MAX_BYTES = 1 << 20
"""Bytes of a case file. A header of two million lines took a minute to read."""


def parse_case(path: Path) -> Case:
    """Return the case of a file.

    Args:
        path: of the file.

    Raises:
        CaseError: the file cannot be read, or breaks the contract.
    """
    try:
        data = read_regular(path)
        if len(data) > MAX_BYTES:
            raise CaseError.of(path, None, f"is larger than {MAX_BYTES >> 20} MiB: a case is one small program")
        text = decode(data)
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError.of(path, None, f"cannot be read: {getattr(error, 'strerror', '') or error}") from None
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
    private = settings_beside(path)
    problems: list[Problem] = []
    if not path.stem.isprintable():
        problems.append(Problem(None, "the name of the file is the case's id, and holds a control character"))
    checks, benches, doc = read_program(text, problems)
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
        component=header.word("component", (*COMPONENTS, *private.components), ""),
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
        extra=header.word("extra", (*EXTRAS, *private.extras), ""),
        compiles=header.get("compiles", True),
        guard=guard,
        flaky=header.get("flaky", False),
        labels=header.strings("labels"),
        demands=_demands(header, checks),
        kind=header.word("kind", KINDS, "bug"),
        upstream=header.word("upstream", UPSTREAM, ""),
        upstream_seen=_upstream_seen(header),
        reported_on=_reported_on(header),
        found_beside=header.url("found-beside"),
        network=header.get("network", False),
        dependencies=_dependencies(metadata, block.first_line, problems),
        requires_python=_requires_python(metadata, block.first_line, problems),
    )
    if problems:
        raise CaseError(path, problems)
    program = without_benches(block.program)
    return Case(
        id=path.stem,
        path=path,
        checks=checks,
        benches=benches,
        hash=_digest(program, settings),
        unrestricted_hash=_digest(program, {**settings, "requires-torch": None}),
        doc=doc,
        **case,
    )


def _digest(program: str, settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{program}\0{json.dumps(settings, sort_keys=True)}".encode()).hexdigest()[:16]


def _parse_toml(path: Path, toml: str, first: int) -> dict[str, Any]:
    try:
        metadata: dict[str, Any] = parse_toml(toml)
        return metadata
    except TOMLDecodeError as error:
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
        packages=_packages(table),
        line=table.line,
    )


def _packages(table: HeaderTable) -> Mapping[str, SpecifierSet]:
    packages: dict[str, SpecifierSet] = {}
    for name, text in table.get("packages", {}).items():
        key = canonicalize_name(name)
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key):
            table.note("packages", f"packages names {shown(name)}, which is no name of a package")
            continue
        try:
            packages[key] = _specifiers(text)
        except (ValueError, TypeError, AttributeError):
            problem = f'packages.{key} = {shown(text)} is not a PEP 440 specifier set; write for example "<2"'
            table.note("packages", problem)
    return packages


def _upstream_seen(header: HeaderTable) -> date | None:
    """Return the day on which the issue was `upstream`; each of the two keys needs the other."""
    for key, other in (("upstream", "upstream-seen"), ("upstream-seen", "upstream")):
        if header.is_given(key) and not header.is_given(other):
            header.note(key, f"upstream and upstream-seen belong together: {other!r} is missing")
    value = header.get("upstream-seen", None)
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = datetime.min
    if isinstance(day, datetime):
        header.note("upstream-seen", f"upstream-seen must be a day such as 2026-11-20, not {shown(str(value))}")
        return None
    return day


def _reported_on(header: HeaderTable) -> str:
    value: str = header.get("reported-on", "")
    try:
        return value and str(Version(value))
    except InvalidVersion:
        header.note("reported-on", f"reported-on must be a release such as 2.9.1, not {shown(value)}")
        return ""


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
    """Return what each check demands: the same for all of them, or a table by check."""
    given = header.get("demands", [])
    by_check = given if isinstance(given, dict) else {check.name: given for check in checks}
    names = [check.name for check in checks]
    by_name: dict[str, tuple[str, ...]] = {}
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
        by_name[name] = tuple(dict.fromkeys(demands))
    return by_name


def _dependencies(metadata: dict[str, Any], line: int, problems: list[Problem]) -> tuple[str, ...]:
    value = metadata.get("dependencies", [])
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
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
    """Return the line of every key: of the case table, and of each bug entry in order."""
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


# --- one table --------------


class HeaderTable:
    """Typed access to one table of the header. A problem is noted with its line, and a default returned."""

    def __init__(
        self,
        table: dict[str, Any],
        keys: dict[str, Types],
        name: str,
        lines: dict[str, int],
        line: int,
        problems: list[Problem],
    ) -> None:
        self.name, self.line, self._lines, self._problems = name, line, lines, problems
        self._table: dict[str, Any] = {}
        for key, value in table.items():
            if key not in keys:
                self.note(key, f"unknown key {key!r} in {name}{did_you_mean(key, keys)}")
            elif not isinstance(value, keys[key]) or (isinstance(value, bool) and keys[key] is not bool):
                self.note(key, f"{key} must be {_TYPE_NAMES[keys[key]]}, not {shown(value)}")
            elif isinstance(value, str) and not value.isprintable() and key not in PATTERNS:
                self.note(key, f"{key} holds a control character or a line break: {shown(value)}")
            else:
                self._table[key] = value
        self._given = set(table)

    def note(self, key: str | None, text: str) -> None:
        """Add a problem; it is on the line of `key`, or on that of the table.

        Args:
            key: the key that is wrong; None for the table as a whole.
            text: says what is wrong.
        """
        self._problems.append(Problem(self._lines.get(key or "", self.line), text))

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def is_given(self, key: str) -> bool:
        """Return whether the table has the key, with a right value or a wrong one.

        Args:
            key: any key.
        """
        return key in self._given

    def get(self, key: str, default: Any) -> Any:
        """Return the value of a key.

        Args:
            key: any key.
            default: the answer where the table does not have it.
        """
        return self._table.get(key, default)

    def text(self, key: str) -> str | None:
        """Return a text, if there is one.

        Args:
            key: a key whose value is a text.
        """
        value: str | None = self._table.get(key)
        return value

    def required(self, keys: Iterable[str]) -> None:
        """Add a problem for each key that is absent or empty.

        Args:
            keys: those that the table needs.
        """
        for key in keys:
            if not self._table.get(key) and (key not in self._given or key in self._table):
                self.note(None, f"{self.name} needs {key!r}")

    def word(self, key: str, allowed: Sequence[str], default: str) -> str:
        """Return a word of a vocabulary, or add a problem and return the default.

        Args:
            key: a key whose value is a word.
            allowed: the vocabulary.
            default: the answer where the table does not have it.
        """
        value: str = self._table.get(key, default)
        if key in self._table and value not in allowed:
            hint = did_you_mean(value, allowed) or f": one of {', '.join(allowed)}"
            self.note(key, f"unknown {key} {shown(value)}{hint}")
            return default
        return value

    def specifiers(self, key: str) -> SpecifierSet:
        """Return the versions that a key names, all where it is absent; add a problem if it names none.

        Args:
            key: a key whose value is a PEP 440 specifier set.
        """
        text = self._table.get(key, "")
        try:
            return _specifiers(text)
        except ValueError:  # InvalidSpecifier, or a number too long for Python
            self.note(key, f'{key} = {shown(text)} is not a PEP 440 specifier set; write for example ">=2.4,<2.9"')
            return SpecifierSet()

    def strings(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of texts without repetitions, or add a problem and return the default.

        Args:
            key: a key whose value is a list.
            default: the answer where the table does not have it.
        """
        values = self._table.get(key, default)
        if not all(isinstance(value, str) and value and value.isprintable() for value in values):
            self.note(key, f"{key} must be a list of non-empty strings, not {shown(values)}")
            return default
        return tuple(dict.fromkeys(values))

    def some_of(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return a list of texts as `strings` does, and add a problem if it is empty.

        Args:
            key: a key whose value is a list.
            default: the answer where the table does not have it.
        """
        values = self.strings(key, default)
        if not values:
            self.note(key, f"{key} must name at least one {key[:-1]}")
        return values or default

    def url(self, key: str) -> str:
        """Return a web address, or add a problem; empty if there is none.

        Args:
            key: a key whose value is an address.
        """
        value: str = self._table.get(key, "")
        if value and not re.fullmatch(r"https?://\S+", value):
            self.note(key, f"{key} must be a web address, not {shown(value)}")
        return value

    def pattern(self, key: str) -> str | None:
        """Return a regular expression, if there is one.

        Args:
            key: where it stands.
        """
        value: str | None = self._table.get(key)
        if value is None:
            return None
        try:
            compiled(value)
        except NOT_A_PATTERN as error:
            self.note(key, f"{key} is not a regular expression: {error or type(error).__name__}")
            return None
        return value


def shown(value: Any) -> str:
    """Return a value for a message: on one line, and not longer than one reads.

    Args:
        value: any.
    """
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # a number of too many digits, a list in a list in a list ...
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= 80 else f"{text[:77]}..."


@lru_cache(maxsize=4096)
def _specifiers(text: str) -> SpecifierSet:
    specifiers = SpecifierSet(text)
    # Versions are parsed when they are first compared.
    specifiers.contains("2.0")
    return specifiers


# --- the block of script metadata ---------


@dataclass(frozen=True)
class ScriptBlock:
    """The TOML text of a block, the program around it, and the line (from 0) that opens it."""

    toml: str
    program: str
    opening: int

    @property
    def first_line(self) -> int:
        """Number, from 1, of the file's line that holds the first line of TOML."""
        return self.opening + 2


class NotRegularError(OSError):
    """A pipe, a device or a folder that is named like a file: reading it could block for ever."""


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Args:
        path: of the file.

    Raises:
        NotRegularError: it is something else.
        OSError: it cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise NotRegularError(f"{path}: is not a regular file")
    return path.read_bytes()


def find_block(text: str) -> ScriptBlock | None:
    """Return the first closed ``script`` block of a program; None if there is none.

    The block ends at the last ``# ///`` before the first line that is no comment, as PEP 723 has it.

    Args:
        text: the program.
    """
    lines = text.split("\n")
    opening = next((i for i, line in enumerate(lines) if line == OPENING), None)
    if opening is None:
        return None
    closing = None
    for index in range(opening + 1, len(lines)):
        line = lines[index]
        if line == CLOSING:
            closing = index
        elif line != "#" and not line.startswith("# "):
            break
    if closing is None:
        return None
    toml = "".join(f"{line[2:]}\n" for line in lines[opening + 1 : closing])
    program = "".join(f"{line}\n" for line in lines[:opening]) + "\n".join(["", *lines[closing + 1 :]])
    return ScriptBlock(toml, program, opening)


def opening_line(text: str) -> int | None:
    """Return the number, from 1, of the line that opens a block; None if no line does.

    Args:
        text: the program.
    """
    return next((i for i, line in enumerate(text.split("\n"), 1) if line == OPENING), None)


def decode(data: bytes, errors: str = "strict") -> str:
    """Return the text of a program with ``\\n`` line ends; a byte order mark is dropped.

    Args:
        data: the bytes of its file.
        errors: as of `bytes.decode`.

    Raises:
        UnicodeDecodeError: it is not UTF-8, and that is to be an error.
    """
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_case_text(text: str) -> bool:
    """Return whether nothing but comments and blank lines stands before a block that speaks of pt2bugs.

    Args:
        text: the program.
    """
    if TABLE not in text:
        return False
    for line in text.split("\n"):
        bare = line.strip()
        if line == OPENING:
            return True
        if bare and not bare.startswith("#"):
            return False
    return False


def why_not_a_case(data: bytes) -> str:
    """Return why a file is no case although it holds a header of ours; empty where it holds none.

    Args:
        data: the bytes of the file.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        has_table = TABLE in data.decode("utf-16", "replace")
        return "it is UTF-16: save it as UTF-8" if has_table else ""
    text = decode(data, "replace")
    if opening_line(text) is None or f"# [{TABLE}]" not in text or is_case_text(text) or not _is_comment(text):
        return ""
    return "code stands before its '# /// script' block: the header comes first"


def _is_comment(text: str) -> bool:
    """Return whether the line that opens a block is a comment, and not part of a string that holds a case."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return True
    return any(token.type == tokenize.COMMENT and token.line.rstrip() == OPENING for token in tokens)
