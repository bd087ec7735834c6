"""The only notion of "the same failure": its normalization, its levels, and the documented failure of a bug entry.

The committed journal has 4,833 pairs of neighbouring releases on which one row of the matrix fails. 4,746 show the
same failure at TYPE, 4,566 at MESSAGE, 4,411 at FRAME. The 180 between TYPE and MESSAGE are one bug in new words
("call_method UserDefinedObjectVariable(zip)" became "Unsupported method call"): between releases only TYPE may be
asked for. The 155 between MESSAGE and FRAME moved to another function of torch, or are wrong results whose numbers
differ.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

from pt2bugs.case.model import Bug
from pt2bugs.case.observation import Observation, telling_line, without_line
from pt2bugs.case.patterns import PatternTimeout, search
from pt2bugs.case.vocabulary import FAILURES, Outcome


class Level(IntEnum):
    """Strictness with which two failures are compared; each level asks for what those before it ask for.

    TYPE: the same outcome, signal and bare exception type. For different releases: exceptions move between modules, and
    texts are rewritten.
    MESSAGE: also the same normalized telling line. For one release, on other machines or other backends.
    FRAME: also the same innermost torch frame, line number aside, and of a wrong result the same numbers. For runs of
    one program.
    """

    TYPE = 1
    MESSAGE = 2
    FRAME = 3


LENGTH = 200
"""Characters of a normalized message that count."""
_TAIL = re.compile(r"\n\s*(?:from user code:|Set TORCH\w+=|You can suppress this exception).*", re.DOTALL)
"""The end of a message: the user's code and Dynamo's advice."""
_BACKEND = re.compile(r"backend='[^']*' raised:\s*|(?<=\bBackend compiler )`[^`]*`|(?<=\bBackend: )[\w.-]+")
_VARIES = re.compile(
    r"0x(?:[0-9a-fA-F]+|\.\.\.)"
    r"|<(?:cell|cache|env|python|scratch)>[^\s'\",)]*"
    r"|(?<![\w.>~-])~?(?:/[\w.+-]+){2,}"
    r"|\b(?:arg|primals|tangents|buf|tmp|getitem|placeholder)_?\d+(?:_\d+)*\b"
    r"|(?<=\b[Nn]ode )\w+(?= (?:was|in) )"  # of a graph: each layer names them anew
    r"|\b[suz]\d+\b"  # symbolic sizes
    r"|(?<![^\W_])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"  # numbers, but not the 64 of float64
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
WRAPPERS = frozenset({"BackendCompilerFailed", "InductorError", "LoweringException"})
"""Exceptions of a backend that wrap the one that counts."""
_WRAPPED = re.compile(r"(?:\w+ raised )?(?:[\w.]+\.)?([A-Z]\w+)(?::\s|:?$)")
"""The exception inside a wrapper; torch 2.0 names the function that raised it."""
_RAISED_AGAIN = re.compile(r"torch/_dynamo/eval_frame\.py (?:compile_wrapper|_fn|__call__)$")
"""Frames in which Dynamo raises every failure of a compile again. They do not tell failures apart."""


def normalize(text: str) -> str:
    """Return a text without what differs from run to run, machine to machine or backend to backend.

    Numbers, addresses, absolute paths, generated names and symbolic sizes become ``N``; names of backends, Dynamo's
    advice and the user's code are dropped; white space becomes single blanks.

    Args:
        text: a message, or a line of one.
    """
    return " ".join(_VARIES.sub("N", _BACKEND.sub("", _TAIL.sub("", text))).split())


def place_of(frame: str) -> str:
    """Return file and function of a torch frame; empty for the frame in which every failure of a compile is raised.

    Args:
        frame: as a journal line has it.
    """
    place = without_line(frame)
    return "" if _RAISED_AGAIN.search(place) else place


@dataclass(frozen=True)
class Failure:
    """The identity of a failure.

    `error` is the bare type of the exception, that inside a wrapper such as ``BackendCompilerFailed``; `message` the
    normalized telling line; `frame` file and function of the innermost torch frame, empty where every failure of a
    compile is raised; `values` the numbers in the message of a wrong result.
    """

    outcome: Outcome
    error: str = ""
    signal: str = ""
    message: str = ""
    frame: str = ""
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, seen: Observation | Mapping[str, Any]) -> Failure | None:
        """Return the failure of an observation or a journal line; None if the check passed or could not say.

        Args:
            seen: what one run showed.
        """
        shown = vars(seen) if isinstance(seen, Observation) else seen
        texts = (shown.get(key, "") for key in ("error_type", "signal", "message", "frame"))
        return _failure(Outcome(shown["outcome"]), *texts)

    def same(self, other: Failure | None, level: Level) -> bool:
        """Return whether both are the same failure at that level.

        Args:
            other: what it is compared with; nothing is the same as no failure.
            level: what must agree.
        """
        return other is not None and self._key(level) == other._key(level)

    def fingerprint(self, level: Level) -> str:
        """Return twelve hexadecimal digits that all failures have which are the same at that level.

        Args:
            level: what must agree.
        """
        return hashlib.sha256(repr(self._key(level)).encode()).hexdigest()[:12]

    def _key(self, level: Level) -> tuple[object, ...]:
        key: tuple[object, ...] = (str(self.outcome), self.error, self.signal)
        if level >= Level.MESSAGE:
            key += (self.message,)
        if level >= Level.FRAME:
            key += (self.frame, self.values)
        return key

    @property
    def summary(self) -> str:
        """The failure on one line."""
        parts = " ".join(part for part in (self.outcome, self.signal, self.error) if part)
        return f"{parts}: {self.message}" if self.message else parts


@lru_cache(maxsize=4096)
def _failure(outcome: Outcome, error_type: str, signal: str, message: str, frame: str) -> Failure | None:
    """Return the failure of `Failure.of`. A history says the same on many releases, and is asked often."""
    if outcome not in FAILURES:
        return None
    error, line = error_type.rpartition(".")[2], telling_line(_TAIL.sub("", message))
    while error in WRAPPERS and (inner := _WRAPPED.match(line)):
        error, line = inner[1], line[inner.end() :]
    return Failure(
        outcome=outcome,
        error=error,
        signal=signal,
        message=normalize(line)[:LENGTH],
        frame=place_of(frame),
        values=tuple(_NUMBER.findall(message)) if outcome is Outcome.WRONG else (),
    )


def documents(bug: Bug, seen: Observation) -> bool:
    """Return whether a bug entry documents the failure that was seen.

    Args:
        bug: an entry of a header; where it applies is not asked.
        seen: what one run showed.

    Raises:
        PatternTimeout: a pattern of the entry takes too long on what was seen.
    """
    return (
        seen.outcome == bug.outcome
        and (bug.error is None or bug.error.removeprefix("builtins.") == seen.error_type)
        and (bug.signal is None or bug.signal == seen.signal)
        and (bug.match is None or search(bug.match, seen.message))
        and (bug.frame is None or search(bug.frame, seen.all_frames))
        and (bug.output is None or search(bug.output, seen.output_tail))
    )


def show_one_bug(first: Observation, second: Observation, bugs: Iterable[Bug]) -> bool:
    """Return whether one bug entry that looks at the message or the frames documents both failures.

    Args:
        first: what one run showed.
        second: what the other showed.
        bugs: the entries of the case.
    """
    try:
        return any(documents(bug, first) and documents(bug, second) for bug in bugs if bug.match or bug.frame)
    except PatternTimeout:
        return False
