"""The words of messages: those that tell failures apart, and those that many failures have.

`ordinary.toml` has messages that torch or Python raise for a mistake of the user, and messages that many bugs share,
each with the cases whose documented pattern it fits: such a pattern alone does not make a failure known. It also has
lines of code that many programs have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pt2bugs.case.patterns import search
from pt2bugs.case.toml import parse_toml

_COMPARISON = re.compile(
    r"^(?:Tensor-likes are not |Scalars are not |Booleans mismatch|Mismatched elements|Greatest (?:absolute|relative) "
    r"difference|Expected .* but got |Absolute difference|Relative difference|The (?:values for attribute|length of "
    r"the sequences|keys of the mappings)|Object comparison failed|Sparse |The failure occurred for item|None mismatch)"
    r"[^\n]*$",
    re.MULTILINE,
)
"""The lines of torch.testing, which every comparison that fails has."""
_USER_CODE = re.compile(
    r"^from user code:?[^\n]*\n(?:[ \t]+[^\n]*\n?|\n(?=[ \t]+\S))*"
    r"|^Original traceback:[^\n]*\n(?:[ \t]+[^\n]*\n?)*"
    r"|^[ \t]*File \"[^\n]*\n(?:[ \t]+[^\n]*(?:\n|$))?",
    re.MULTILINE,
)
_HINTS = re.compile(
    r"^(?:Set TORCH|You can suppress|    import torch|    torch\._dynamo\.config\.suppress|For even more developer"
    r"|[ \t]*Please (?:report|file)|Exception raised from |frame #\d+:(?! at::)|While executing "
    r"|\[\.\.\. \d+ characters left"
    r"|GraphModule: |Hint: enable anomaly)[^\n]*$",
    re.MULTILINE,
)


_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[^}]*\}|(?<!\w)(?P<number>\d+)(?!\w)")
"""Parts of a regular expression: signs that are no number of the message, and numbers."""


def any_numbers(pattern: str) -> str:
    """Return the pattern with any number where it has one: sizes and versions are the program's.

    Args:
        pattern: a regular expression.
    """
    return _PARTS.sub(lambda part: r"\d+" if part["number"] else part[0], pattern)


_NAMES = re.compile(r"\\.|\(\?[^)]*[):<=!>]|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[^}]*\}|(?P<name>(?<!\w)[A-Za-z_]\w*)")
"""Parts of a regular expression: signs that are no name of the message, and names."""


def any_program(pattern: str, names: frozenset[str]) -> str:
    """Return the pattern of a case as programs with other names and sizes fit it.

    Args:
        pattern: of a header.
        names: those that the program of the case gives to its functions, classes and attributes.
    """
    wide = _NAMES.sub(lambda part: r"\w+" if part["name"] in names else part[0], pattern)
    return any_numbers(wide)


@lru_cache(maxsize=1)
def ordinary_messages() -> dict[str, list[dict[str, Any]]]:
    """Return the tables of `ordinary.toml`: `mistake`, `shared` and `code`, each with `says` and `cases`."""
    tables: dict[str, list[dict[str, Any]]] = parse_toml(
        (Path(__file__).parent / "ordinary.toml").read_text(encoding="utf-8")
    )
    return tables


def _fits_any(pattern: str, kind: str) -> bool:
    return any(search(any_numbers(pattern), entry["says"]) for entry in ordinary_messages()[kind])


@lru_cache(maxsize=4096)
def is_mistake(pattern: str) -> bool:
    """Return whether a pattern fits what torch or Python says on purpose of a mistake, numbers aside.

    Args:
        pattern: of a header.
    """
    return _fits_any(pattern, "mistake")


@lru_cache(maxsize=4096)
def is_ordinary(pattern: str) -> bool:
    """Return whether a pattern says too little by itself: it fits a mistake, or what many bugs say.

    Args:
        pattern: of a header.
    """
    return is_mistake(pattern) or _fits_any(pattern, "shared")


def is_ordinary_code(line: str) -> bool:
    """Return whether a line of code may stand in any program.

    Args:
        line: without indentation.
    """
    return any(re.search(entry["match"], line) for entry in ordinary_messages()["code"])


def is_comparison(message: str) -> bool:
    """Return whether a message is one of torch.testing, which says how two values differ.

    Args:
        message: of an exception.
    """
    return _COMPARISON.search(message) is not None


def own_message(message: str) -> str:
    """Return a message without the lines of a comparison, of the user's program, of general advice.

    Args:
        message: of an exception.
    """
    for pattern in (_USER_CODE, _COMPARISON, _HINTS):
        message = pattern.sub("", message)
    return message.strip()


_VARIES = re.compile(
    r"0x[0-9a-fA-F]+"
    r"|(?<![\w.~<>-])(?:[A-Za-z]:)?(?:[\w.~<>-]*[/\\])+[\w.-]+(?::\d+)?"  # paths
    r"|L\[[^\]]{0,200}\](?:[.\w]|\[[^\]]{0,200}\])*|\b[LG]__\w+"  # Dynamo's sources
    r"|\b(?:arg|primals|tangents|buf|tmp|getitem|placeholder)_?\d+(?:_\d+)?\b"
    r"|\b[su]\d+\b|-?\d+(?:\.\d+)?(?:e-?\d+)?"
)
_WORD = re.compile(r"[A-Za-z_][\w:]*(?:\.[A-Za-z_]\w*)*")

Words = frozenset[str]


@lru_cache(maxsize=65536)
def words_of(message: str) -> Words:
    """Return the words of a message, without what varies from program to program.

    Args:
        message: of an exception.
    """
    return frozenset(_WORD.findall(_VARIES.sub(" # ", own_message(message))))


class Weights:
    """Weights of words. A word in the messages of many bugs weighs little.

    Args:
        messages: The words of the messages of each bug.
    """

    def __init__(self, messages: Iterable[Iterable[Words]]) -> None:
        counts: dict[str, int] = {}
        bugs = 0
        for of_a_bug in messages:
            bugs += 1
            for word in frozenset().union(*of_a_bug):
                counts[word] = counts.get(word, 0) + 1
        self._weights: Mapping[str, float] = {word: math.log(1 + (bugs + 1) / n) for word, n in counts.items()}
        self._unknown = math.log(2 + bugs)
        self._totals: dict[Words, float] = {}

    def total(self, words: Words) -> float:
        """Return the weight of all the words; an unknown one tells as much as one of a single bug.

        Args:
            words: of a message.
        """
        if words not in self._totals:
            self._totals[words] = sum(self._weights.get(word, self._unknown) for word in words)
        return self._totals[words]

    def likeness(self, words: Words, other: Words) -> float:
        """Return how alike two messages are: from 0 (no word in common, or none at all) to 1 (the same words).

        Args:
            words: of a message.
            other: those of another.
        """
        common = words & other
        if len(common) == len(words) == len(other):
            return 1.0 if words else 0.0
        shared = sum(self._weights.get(word, self._unknown) for word in common)
        return shared / (self.total(words) + self.total(other) - shared)
