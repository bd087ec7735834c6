"""`pt2bugs.toml` beside a private corpus: components, extras and backends of its own, known once its cases are read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pt2bugs.case.model import CaseError, Problem
from pt2bugs.case.program import did_you_mean
from pt2bugs.case.toml import parse_toml
from pt2bugs.case.vocabulary import COMPONENTS, DEMANDS, EXTRAS, TORCH_BACKENDS

NAME = "pt2bugs.toml"
_LEVELS = 3
"""Folders of a case file in which the settings of its corpus may stand: its component's, the corpus, the one beside."""

_WORD = re.compile(r"[A-Za-z0-9][\w.-]*")
_STRINGS = "a list of strings"
_EXTRA_KEYS: dict[str, Any] = {"torch": str, "packages": list}
_BACKEND_KEYS: dict[str, Any] = {
    "about": str,
    "torch": str,
    "packages": list,
    "extra": str,
    "import": str,
    "backend": str,
    "settings": dict,
    "env": dict,
    "device": str,
    "not-claimed": list,
    "broken": str,
}


@dataclass(frozen=True)
class PrivateSettings:
    """The settings of one file. The tables of extras and backends are as they were written, and right."""

    components: tuple[str, ...] = ()
    extras: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    backends: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


_known: dict[Path, PrivateSettings] = {}


def settings_beside(case: Path) -> PrivateSettings:
    """Return the settings of the corpus that a case file belongs to, and make its names known.

    Args:
        case: the file.

    Raises:
        CaseError: the settings are wrong; it names the file, the line and the key.
    """
    path = _file_beside(case.absolute().parent)
    return _read(path, path.lstat().st_mtime_ns) if path else PrivateSettings()


def private_components() -> tuple[str, ...]:
    """Return the components of all private corpora that were read."""
    return tuple(dict.fromkeys(name for settings in _known.values() for name in settings.components))


def private_extras() -> dict[str, Mapping[str, Any]]:
    """Return the extras of all private corpora that were read: by name `torch` and `packages`."""
    return {name: table for settings in _known.values() for name, table in settings.extras.items()}


def private_backends() -> dict[str, Mapping[str, Any]]:
    """Return the backends of all private corpora that were read, with the keys of `backends/known.toml`."""
    return {name: table for settings in _known.values() for name, table in settings.backends.items()}


@lru_cache(maxsize=1024)
def _file_beside(folder: Path) -> Path | None:
    paths = (place / NAME for place in [folder, *folder.parents][:_LEVELS])
    return next((path for path in paths if path.exists() or path.is_symlink()), None)


@lru_cache(maxsize=64)
def _read(path: Path, _changed: int) -> PrivateSettings:
    if not path.is_file():
        raise CaseError.of(path, 1, "is not a regular file")
    try:
        text = path.read_text(encoding="utf-8")
        table = parse_toml(text)
    except (OSError, ValueError, RecursionError) as error:
        at = re.search(r"line (\d+)", str(error))
        raise CaseError.of(path, int(at[1]) if at else 1, f"cannot be read as TOML: {error}") from None
    problems = list(_problems(text, table))
    if problems:
        raise CaseError(path, problems)
    extras, backends = table.get("extras", {}), table.get("backends", {})
    for entry in (*extras.values(), *backends.values()):
        if "packages" in entry:
            entry["packages"] = [_located(word, path.parent) for word in entry["packages"]]
    _known[path] = PrivateSettings(tuple(table.get("components", ())), extras, backends)
    return _known[path]


def _located(package: str, folder: Path) -> str:
    """Return a requirement as it is, and a wheel or folder below the file by its whole path."""
    return str(folder / package) if "/" in package and (folder / package).exists() else package


def _problems(text: str, table: Mapping[str, Any]) -> Iterator[Problem]:
    allowed = ("components", "extras", "backends")
    for key in table:
        if key not in allowed:
            yield Problem(_line(text, key), f"unknown key {key!r}{_hint(key, allowed)}")
    components = table.get("components", [])
    if not _is_strings(components):
        yield Problem(_line(text, "components"), f"components must be {_STRINGS}")
        components = []
    yield from (
        Problem(_line(text, "components"), f"components: {name!r} is no word, or a component that there is already")
        for name in components
        if not _WORD.fullmatch(name) or name in COMPONENTS
    )
    for kind, keys, taken in (("extras", _EXTRA_KEYS, EXTRAS), ("backends", _BACKEND_KEYS, TORCH_BACKENDS)):
        entries = table.get(kind, {})
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            yield Problem(_line(text, kind), f"{kind} must be written as [{kind}.NAME] tables")
            continue
        for name, entry in entries.items():
            head = f"[{kind}.{name}]"
            line = _line(text, head)
            if not _WORD.fullmatch(name) or name in taken:
                yield Problem(line, f"{head}: {name!r} is no word, or a name that there is already")
            yield from _entry_problems(text, line, head, entry, keys)
            if kind == "extras" and not entry.get("packages"):
                yield Problem(line, f"{head} needs packages: what to install")


def _entry_problems(
    text: str, line: int | None, head: str, entry: Mapping[str, Any], keys: Mapping[str, Any]
) -> Iterator[Problem]:
    for key, value in entry.items():
        at = _line(text, key, line or 1)
        if key not in keys:
            yield Problem(at, f"{head}: unknown key {key!r}{_hint(key, tuple(keys))}")
        elif keys[key] is list and not _is_strings(value):
            yield Problem(at, f"{head}: {key} must be {_STRINGS}")
        elif not isinstance(value, keys[key]):
            yield Problem(at, f"{head}: {key} must be {'a string' if keys[key] is str else 'a table'}")
        elif key == "env" and not _is_strings(list(value.values())):
            yield Problem(at, f"{head}: env must be a table of strings")
        elif key == "settings" and not all(isinstance(names, dict) for names in value.values()):
            yield Problem(at, f"{head}: settings must be a table of attributes for each module")
        elif key == "torch":
            try:
                SpecifierSet(value)
            except InvalidSpecifier:
                yield Problem(
                    at, f'{head}: torch = {value!r} is not a PEP 440 specifier set; write for example ">=2.8"'
                )
        elif key == "not-claimed":
            for word in value:
                if word not in DEMANDS:
                    yield Problem(at, f"{head}: not-claimed: unknown word {word!r}{_hint(word, DEMANDS)}")


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _hint(word: str, allowed: tuple[str, ...]) -> str:
    return did_you_mean(word, allowed) or f": one of {', '.join(allowed)}"


def _line(text: str, key: str, after: int = 1) -> int | None:
    """Return the first line from `after` on that begins with a key or the head of a table."""
    lines = text.splitlines()
    for number in range(after, len(lines) + 1):
        if re.match(rf'\s*"?{re.escape(key)}"?(?:\s|=|\.|$|#)', lines[number - 1]):
            return number
    return None
