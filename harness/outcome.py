"""The words for what was seen in a cell, and for what that means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Outcome(str, Enum):
    """What was seen when a check ran."""

    PASS = "pass"
    WRONG = "wrong"  # the check's own oracle failed
    RAISE = "raise"  # an exception from torch left the check
    CRASH = "crash"  # died by a signal, or left without reporting
    TIMEOUT = "timeout"
    OOM = "oom"
    SKIP = "skip"  # cannot apply here: device or API absent
    ERROR = "error"  # the environment or the harness is at fault, never the bug

    __str__ = str.__str__


class Verdict(str, Enum):
    """The outcome against what the case expects."""

    PASS = "pass"
    XFAIL = "xfail"  # the documented bug, with its documented identity
    XPASS = "xpass"  # expected to fail, passed
    FAIL = "fail"  # anything else bad, also a different failure than the documented one
    SKIP = "skip"
    ERROR = "error"
    FLAKY = "flaky"  # repeats disagree

    __str__ = str.__str__


BAD = frozenset({Outcome.WRONG, Outcome.RAISE, Outcome.CRASH, Outcome.TIMEOUT, Outcome.OOM})
"""Outcomes a bug can have."""

CALM = frozenset({Verdict.PASS, Verdict.XFAIL, Verdict.SKIP})
"""Verdicts that need nobody's attention."""

MESSAGE_LIMIT = 4000
OUTPUT_LIMIT = 4000


def bounded(text: str, limit: int) -> str:
    """`text` made safe to store and print: at most about `limit` characters, no control characters.

    Keeps the head and the tail; NUL, escape sequences and lone surrogates become visible escapes, so that
    what a check printed cannot drive a terminal or break a file.
    """
    if len(text) > limit:
        head = limit * 2 // 3
        tail = limit - head
        text = f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[-tail:]}"
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)


@dataclass
class Observation:
    """What one run of one check showed.

    `error_type` is the dotted exception type (built-in ones bare), `frame` the innermost torch frame as
    ``torch/path.py:LINE function``, `duration_s` seconds of the check's body, `peak_rss_mb` MiB.
    """

    outcome: Outcome
    error_type: str = ""
    message: str = ""
    frame: str = ""
    signal: str = ""
    exit_status: int | None = None
    graphs: int | None = None
    duration_s: float = 0.0
    peak_rss_mb: float = 0.0
    output_tail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "outcome": str(self.outcome)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Observation:
        names = cls.__dataclass_fields__
        kept = {key: value for key, value in data.items() if key in names}
        return cls(**{**kept, "outcome": Outcome(data["outcome"])})

    @property
    def summary(self) -> str:
        """One line: the outcome and its identity."""
        parts = [str(self.outcome)]
        if self.signal:
            parts.append(self.signal)
        if self.error_type:
            parts.append(self.error_type)
        first = next((line.strip() for line in self.message.splitlines() if line.strip()), "")
        text = " ".join(parts)
        return f"{text}: {first[:200]}" if first else text
