"""How alike two messages are: their words, without what varies from program to program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from pt2bugs.triage.ordinary import own_words

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
    return frozenset(_WORD.findall(_VARIES.sub(" # ", own_words(message))))


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
        self._counts: Mapping[str, int] = counts
        self._bugs = bugs

    def of(self, word: str) -> float:
        """The weight of a word; an unknown one tells as much as one of a single bug."""
        return math.log(1 + (self._bugs + 1) / self._counts.get(word, 1))

    def total(self, words: Iterable[str]) -> float:
        return sum(self.of(word) for word in words)

    def likeness(self, one: Words, other: Words) -> float:
        """From 0 (no word in common) to 1 (the same words); 0 where both say nothing."""
        union = self.total(one | other)
        return self.total(one & other) / union if union else 0.0
