"""How alike two messages are: their words, without what varies from program to program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from pt2bugs.triage.ordinary import own_message

_VARIES = re.compile(
    r"0x[0-9a-fA-F]+"
    r"|(?:[A-Za-z]:)?(?:[\w.~<>-]*[/\\])+[\w.-]+(?::\d+)?"  # paths
    r"|L\[[^\]]*\](?:[.\w]|\[[^\]]*\])*|\b[LG]__\w+"  # Dynamo's sources
    r"|\b(?:arg|primals|tangents|buf|tmp|getitem|placeholder)_?\d+(?:_\d+)?\b"
    r"|\b[su]\d+\b|-?\d+(?:\.\d+)?(?:e-?\d+)?"
)
_WORD = re.compile(r"[A-Za-z_][\w:]*(?:\.[A-Za-z_]\w*)*")

Words = frozenset[str]


@lru_cache(maxsize=65536)
def words_of(message: str) -> Words:
    """The words of a message that say what went wrong."""
    return frozenset(_WORD.findall(_VARIES.sub(" # ", own_message(message))))


class Weights:
    """How much each word tells: one that many bugs' messages have tells little.

    Args:
        messages: the words of the messages of each bug.
    """

    def __init__(self, messages: Iterable[Iterable[Words]]) -> None:
        counts: dict[str, int] = {}
        bugs = 0
        for alike in messages:
            bugs += 1
            for word in frozenset().union(*alike):
                counts[word] = counts.get(word, 0) + 1
        self._weights: Mapping[str, float] = {word: math.log(1 + (bugs + 1) / n) for word, n in counts.items()}
        self._unknown = math.log(2 + bugs)
        self._totals: dict[Words, float] = {}

    def total(self, words: Words) -> float:
        """The weight of all the words; an unknown one tells as much as one of a single bug."""
        if words not in self._totals:
            self._totals[words] = sum(self._weights.get(word, self._unknown) for word in words)
        return self._totals[words]

    def likeness(self, one: Words, other: Words) -> float:
        """From 0 (no word in common) to 1 (the same words); 0 where both say nothing."""
        common = one & other
        if len(common) == len(one) == len(other):
            return 1.0 if one else 0.0
        shared = sum(self._weights.get(word, self._unknown) for word in common)
        return shared / (self.total(one) + self.total(other) - shared)
