"""Typed access to one table of a header; what is wrong is noted with its line, so that all of it is told at once."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from packaging.specifiers import SpecifierSet
from pt2bugs.case.model import Problem
from pt2bugs.case.program import did_you_mean

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
}


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
        """Add a problem; it is on the line of `key`, or on that of the table."""
        self._problems.append(Problem(self._lines.get(key or "", self.line), text))

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def get(self, key: str, default: Any) -> Any:
        return self._table.get(key, default)

    def text(self, key: str) -> str | None:
        value: str | None = self._table.get(key)
        return value

    def required(self, keys: Iterable[str]) -> None:
        for key in keys:
            if not self._table.get(key) and (key not in self._given or key in self._table):
                self.note(None, f"{self.name} needs {key!r}")

    def word(self, key: str, allowed: Sequence[str], default: str) -> str:
        value: str = self._table.get(key, default)
        if key in self._table and value not in allowed:
            hint = did_you_mean(value, allowed) or f": one of {', '.join(allowed)}"
            self.note(key, f"unknown {key} {shown(value)}{hint}")
            return default
        return value

    def specifiers(self, key: str) -> SpecifierSet:
        text = self._table.get(key, "")
        try:
            return _specifiers(text)
        except ValueError:  # InvalidSpecifier, or a number too long for Python
            self.note(key, f'{key} = {shown(text)} is not a PEP 440 specifier set; write for example ">=2.4,<2.9"')
            return SpecifierSet()

    def strings(self, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        values = self._table.get(key, default)
        if not all(isinstance(value, str) and value and value.isprintable() for value in values):
            self.note(key, f"{key} must be a list of non-empty strings, not {shown(values)}")
            return default
        return tuple(dict.fromkeys(values))

    def some_of(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        values = self.strings(key, default)
        if not values:
            self.note(key, f"{key} must name at least one {key[:-1]}")
        return values or default

    def url(self, key: str) -> str:
        value: str = self._table.get(key, "")
        if value and not re.fullmatch(r"https?://\S+", value):
            self.note(key, f"{key} must be a web address, not {shown(value)}")
        return value

    def pattern(self, key: str) -> str | None:
        """A regular expression, if there is one."""
        value: str | None = self._table.get(key)
        if value is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(value)
        except (re.error, OverflowError, RecursionError, MemoryError) as error:
            self.note(key, f"{key} is not a regular expression: {error or type(error).__name__}")
            return None
        return value


def shown(value: Any) -> str:
    """A value for a message: on one line, and not longer than one reads."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError):  # a number of too many digits, a list in a list in a list ...
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= 80 else f"{text[:77]}..."


@lru_cache(maxsize=4096)
def _specifiers(text: str) -> SpecifierSet:
    found = SpecifierSet(text)
    # Versions are parsed when they are first compared.
    found.contains("2.0")
    return found
