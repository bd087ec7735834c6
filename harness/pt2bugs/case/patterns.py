"""Regular expressions of headers: how they are written, and searched under a deadline, because some take hours."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

import regex

DEADLINE_S = 5.0
"""Seconds for one search."""


NOT_A_PATTERN = (regex.error, ValueError, OverflowError, RecursionError, MemoryError)
"""Exceptions that `compiled` raises for a text that is no regular expression."""


class PatternTimeout(Exception):
    """A regular expression took longer than `DEADLINE_S` on a text.

    Cause: nested repetitions, such as ``(a+)+``, in the `match`, `frame` or `output` of an entry.
    Remedy: rewrite the pattern; the constant part of a message is enough.
    """


@lru_cache(maxsize=65536)
def search(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text.

    Args:
        pattern: a regular expression that compiles.
        text: any.

    Raises:
        PatternTimeout: it took too long.
    """
    try:
        return compiled(pattern).search(text, timeout=DEADLINE_S) is not None
    except TimeoutError:
        raise PatternTimeout from None


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Return the compiled pattern, with the meaning that `re` gives it.

    Args:
        pattern: a regular expression.

    Raises:
        regex.error: it is none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return regex.compile(pattern, regex.VERSION0)


_CLASS = regex.compile(r"\\(.)|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z]+\)|[.^$]")
_GROUP = regex.compile(r"\((?:\?:|\?P<\w+>)?([^()]*)\)(\?|\*|\{0?,\d*\}|\+|\{\d+(?:,\d*)?\})?")
_OPTIONAL = regex.compile(r".(?:\?|\*|\{0?,\d*\})[?+]?|[+]|\{\d+(?:,\d*)?\}")


@lru_cache(maxsize=4096)
def literal_length(pattern: str) -> int:
    """Return about how many characters a pattern fixes in every text that it fits. Of alternatives the shortest counts.

    Args:
        pattern: a regular expression that compiles. What it repeats counts once, what it looks around for not at all.
    """
    text = _CLASS.sub(lambda token: "x" if token[1] and token[1] not in "dDwWsSbBAZ" else "\0", pattern)
    while (inner := _GROUP.sub(_shortest, text)) != text:
        text = inner
    return min(_length(branch) for branch in text.split("|"))


def _shortest(group: regex.Match[str]) -> str:
    is_optional = (group[2] or "").startswith(("?", "*", "{0", "{,"))
    return "" if is_optional else "x" * min(_length(branch) for branch in group[1].split("|"))


def _length(branch: str) -> int:
    return len(_OPTIONAL.sub("", branch).replace("\0", ""))


_SIGN = r"[\\.^$*+?{}\[\]|()]"
_PART = re.compile(rf"(?P<number>(?<!\bfloat)(?<!\bbfloat)(?<!\bint)(?<!\buint)(?<!\bcomplex)(?<!\d)\d+)|{_SIGN}")
"""Signs of a regular expression, and numbers. The digits of a dtype are no number: they stay."""


def escaped(text: str) -> str:
    """Return a regular expression for a text; unlike `re.escape`, with no more backslashes than it takes.

    Args:
        text: as it was seen.
    """
    return re.sub(_SIGN, r"\\\g<0>", text)


def pattern_for(line: str) -> str:
    """Return a regular expression for a line of a message, with its numbers left open.

    Args:
        line: as it was seen.
    """
    return _PART.sub(lambda part: r"\d+" if part["number"] else f"\\{part[0]}", line)
