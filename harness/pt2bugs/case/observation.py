"""The observation: what was seen when a check ran."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pt2bugs.case.vocabulary import Outcome

NOT_IMPORTED = "the case file cannot be imported"
"""How the message of an error begins where the check could not even be had."""
MESSAGE_LIMIT = 4000
OUTPUT_LIMIT = 4000
RAW_LIMIT = 64_000
"""Characters of a text that a child sends. Paths are hidden before the last cut, because half a path would stay."""
TYPE_LIMIT = 300
FRAME_LIMIT = 500
MAX_FRAMES = 5
"""Torch frames kept of a traceback, the innermost first."""
MAX_TIMEOUT_FRAMES = 25
"""Torch frames kept of a check that did not end, each function once."""


def without_line(frame: str) -> str:
    """Return file and function of a frame, without the line, which moves from release to release.

    Args:
        frame: as a journal line has it, ``torch/path.py:LINE function``.
    """
    return re.sub(r":\d+ ", " ", frame)


def bounded(text: str, limit: int) -> str:
    """Return a text made safe to store and print: at most about `limit` characters, no control characters.

    Keeps the head and the tail; NUL, escape sequences and lone surrogates become visible escapes, so that
    what a check printed cannot drive a terminal or break a file.

    Args:
        text: any.
        limit: characters.
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
    """The outcome of one run of one check, and all that tells one failure from another.

    `error_type` is the dotted exception type (built-in ones bare), `frame` the innermost torch frame as
    ``torch/path.py:LINE function``, `frames` the next ones outwards (where the message is empty, those of the cause;
    where the time was up, each function once), `outside` the innermost frame of another package, `duration_s` seconds
    of the check's body, `peak_rss_mb` MiB.
    """

    outcome: Outcome
    error_type: str = ""
    message: str = ""
    frame: str = ""
    frames: list[str] = field(default_factory=list)
    outside: str = ""
    signal: str = ""
    exit_status: int | None = None
    graphs: int | None = None
    breaks: int | None = None
    kernels: int | None = None
    fallbacks: int | None = None
    duration_s: float = 0.0
    peak_rss_mb: float = 0.0
    output_tail: str = ""

    def present(self, hide: Callable[[str], str]) -> None:
        """Make the texts fit to be kept, and cut them.

        Args:
            hide: takes what belongs to this machine out of a text.
        """
        self.message = bounded(hide(self.message), MESSAGE_LIMIT)
        self.output_tail = bounded(hide(self.output_tail)[-OUTPUT_LIMIT:], OUTPUT_LIMIT)

    def as_dict(self) -> dict[str, Any]:
        """Return it as a line of the journal has it."""
        return {**vars(self), "outcome": str(self.outcome)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Observation:
        """Return the observation of a line.

        Args:
            data: a line of the journal; keys that say nothing of it are left aside.
        """
        kept = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        return cls(**{**kept, "outcome": Outcome(data["outcome"])})

    @property
    def all_frames(self) -> str:
        """The torch frames that were kept, the innermost first, one on each line."""
        return "\n".join([self.frame, *self.frames])

    @property
    def summary(self) -> str:
        """One line: the outcome and its identity."""
        parts = [str(self.outcome)]
        if self.signal:
            parts.append(self.signal)
        if self.error_type:
            parts.append(self.error_type)
        first = telling_line(self.message)
        text = " ".join(parts)
        return f"{text}: {shortened(first, 200)}" if first else text


_WRAPPERS = (
    "BackendCompilerFailed: backend=",
    "backend='",
    "from user code",
    "Set TORCH",
    "You can suppress",
    "The above exception",
)


def shortened(text: str, length: int) -> str:
    """Return as much of a text as there is room for; an ellipsis says that there is more.

    Args:
        text: of any length.
        length: in characters, the ellipsis included.
    """
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def telling_line(message: str) -> str:
    """Return the first line of a message that says something; wrappers hide the cause on their next line.

    Args:
        message: of an exception.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told = (
        line
        for line in lines
        if not (line.startswith(_WRAPPERS) and line.endswith(("raised:", ":"))) and not line.startswith('File "')
    )
    return next(told, lines[0] if lines else "")
