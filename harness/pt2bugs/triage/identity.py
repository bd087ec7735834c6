"""The failure of one run as a report shows it. Comparisons use its `failure`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pt2bugs.case.failure import LENGTH, Failure, Level, normalize, place_of
from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.vocabulary import FAILURES, Outcome

PRINTS_OTHERWISE = "prints otherwise than without the compiler"
"""The message of a program whose only failure is its output."""
_CONTEXT = re.compile(r"Developer debug context: (\S.*)")
_FAILED_WITH = re.compile(r"\bBackend compiler `[^`]*` failed with (\S.*)")
_GOT = re.compile(r"\bgot (\w*(?:Error|Exception)\(.*)")
"""The exception that Dynamo met as it ran an operator on fake tensors; before it stand the operator and its arguments.
"""


@dataclass(frozen=True)
class Identity:
    """The outcome of a run: exception, message, innermost torch frame, signal, and the line of the program it left.

    Identities are not compared themselves: their `failure` is, at a named level.
    """

    outcome: Outcome
    error_type: str = ""
    message: str = ""
    frame: str = ""
    signal: str = ""
    line: int = 0

    @classmethod
    def of(cls, seen: Observation, lines: list[int] | None = None) -> Identity:
        """Return the identity of an observation.

        Args:
            seen: one run.
            lines: of the program, that the exception left; the innermost is last.
        """
        line = lines[-1] if lines else 0
        return cls(seen.outcome, seen.error_type, seen.message, seen.frame, seen.signal, line)

    @property
    def is_failure(self) -> bool:
        return self.outcome in FAILURES

    @cached_property
    def failure(self) -> Failure | None:
        """The failure; None if the run shows none.

        Its message also has what stands inside: the first line of a graph break is one of a few hundred sentences. An
        exception without a word has its place there.
        """
        seen = Observation(self.outcome, self.error_type, self.message, self.frame, signal=self.signal)
        failure = Failure.of(seen)
        if failure is None:
            return None
        message, inner = failure.message, normalize(self.inner)[:LENGTH]
        line = telling_line(self.message)
        if inner and self.inner not in line:
            message = f"{message} ({inner})"
        elif inner and _GOT.search(line):
            message = inner
        elif not message and self.outcome in (Outcome.RAISE, Outcome.WRONG):
            message = self.place
        return replace(failure, message=message)

    @property
    def inner(self) -> str:
        """The part of a message that tells more than its first line: an inner exception, or the place Dynamo names."""
        match = next(filter(None, (part.search(self.message) for part in (_GOT, _FAILED_WITH, _CONTEXT))), None)
        return match[1].strip() if match is not None else ""

    @property
    def headline(self) -> str:
        """The failure in one line: the exception and its message, or where it was raised without one."""
        text = telling_line(self.message)
        if (inner := self.inner) and inner not in text:
            text = f"{text} ({inner})"
        elif inner and _GOT.search(text):
            text = inner
        if not text and not self.signal and self.place:
            file, _, function = self.place.partition(" ")
            text = f"without a word, in {function} of {file}"
        text = text or self.signal or str(self.outcome)
        return f"{self.error_type.rpartition('.')[2]}: {text}" if self.error_type else text

    @property
    def place(self) -> str:
        """File and function of the innermost torch frame, as failures compare it."""
        return place_of(self.frame)

    def as_json(self) -> dict[str, Any]:
        return {
            "error_type": self.error_type,
            "message": self.message,
            "frame": self.frame,
            "signal": self.signal,
        }


def is_repeated(seen: Identity, wanted: Identity) -> bool:
    """Return whether a run of a program on one torch shows the failure that another run of it showed.

    Args:
        seen: of this run, perhaps on another rung.
        wanted: of the other.
    """
    if seen.failure is None:
        return False
    # MESSAGE: the frame moves with the rung, and the numbers of a wrong result with each run. An assertion of the
    # program's own prints values in words of its own: on one line it is one assertion, and TYPE is enough.
    is_one_assertion = seen.outcome is Outcome.WRONG and seen.line > 0 and seen.line == wanted.line
    return seen.failure.same(wanted.failure, Level.TYPE if is_one_assertion else Level.MESSAGE)


def is_repeated_verbatim(seen: Identity, wanted: Identity) -> bool:
    """Return whether a run repeats a failure to the last digit: without the compiler, values tell it from a mistake.

    Args:
        seen: of this run.
        wanted: of the other.
    """
    return is_repeated(seen, wanted) and seen.message == wanted.message
