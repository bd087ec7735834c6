"""Which failure it is: what two runs must have in common to show the same bug."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.words import FAILURES, Outcome

PRINTS_OTHERWISE = "prints otherwise than without the compiler"
"""The message of a program whose only failure is its output."""
_BACKEND_RAISED = re.compile(r"^backend='[^']*' raised:\s*")
_BACKEND_NAMED = re.compile(r"(\bBackend compiler )`[^`]*`|(\bBackend: )[\w.-]+")
"""The backend's name in Dynamo's account of its failure, where a backend asks for a graph break."""
_USER_CODE = re.compile(r"\n\s*from user code:.*", re.DOTALL)
_ADVICE = re.compile(r"\n\s*(Set TORCH\w+=|You can suppress this exception).*", re.DOTALL)
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|(?<![A-Za-z_])\d+(\.\d+)?(e[-+]?\d+)?")
_RAISED_AGAIN = re.compile(r"torch/_dynamo/eval_frame\.py(:\d+)? (compile_wrapper|_fn|__call__)$")
"""Where Dynamo raises whatever went wrong once more, without its traceback."""
_CONTEXT = re.compile(r"Developer debug context: (\S.*)")
_GOT = re.compile(r"\bgot (\w*(?:Error|Exception)\(.*)")
"""What Dynamo met when it ran an operator on fake tensors; before it stand the operator and all its arguments."""
_PATH = re.compile(r"(?:/[\w.+-]+){2,}|<(?:cell|cache|env)>\S*")


@dataclass(frozen=True)
class Identity:
    """A failure: outcome, exception, message, innermost torch frame, signal, and the line of the program it left."""

    outcome: Outcome
    error_type: str = ""
    message: str = ""
    frame: str = ""
    signal: str = ""
    line: int = 0

    @classmethod
    def of(cls, seen: Observation, lines: list[int] | None = None) -> Identity:
        line = lines[-1] if lines else 0
        return cls(seen.outcome, seen.error_type, seen.message, seen.frame, seen.signal, line)

    @property
    def is_failure(self) -> bool:
        return self.outcome in FAILURES

    @property
    def signature(self) -> str:
        """The message without what differs from run to run: numbers, addresses, paths, the backend's name."""
        text = _BACKEND_NAMED.sub(r"\1\2#", _BACKEND_RAISED.sub("", self.message.strip()))
        text = _ADVICE.sub("", _USER_CODE.sub("", text))
        return _without_numbers(text)[:300]

    @property
    def inner(self) -> str:
        """What a message says beyond its first line: the exception inside it, or the place that Dynamo names."""
        found = _GOT.search(self.message) or _CONTEXT.search(self.message)
        return found[1].strip() if found is not None else ""

    @property
    def headline(self) -> str:
        """The failure in one line: the exception and what it says, or where it was raised without a word."""
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
        """File and function of the innermost torch frame; its line moves from release to release.

        Empty where every failure of a compile is raised: that tells none from another.
        """
        return "" if _RAISED_AGAIN.search(self.frame) else re.sub(r":\d+ ", " ", self.frame)

    def is_same(self, other: Identity) -> bool:
        """Whether both show the same bug in one program.

        By outcome and signal; of exceptions also by type, and then by message or innermost torch frame or, where the
        program's own assertion failed, by the line it stands on.
        """
        if (self.outcome, self.signal, self.error_type) != (other.outcome, other.signal, other.error_type):
            return False
        if self.outcome not in (Outcome.RAISE, Outcome.WRONG):
            return True
        if self.outcome is Outcome.WRONG and self.line and self.line == other.line:
            return True
        if self.signature and self.signature == other.signature:
            return True
        return bool(self.place) and self.place == other.place

    def says_the_same(self, other: Identity) -> bool:
        """Whether both say the same, numbers and paths aside: of an exception that a smaller program raises."""
        return _without_numbers(self.headline) == _without_numbers(other.headline)

    def is_equal(self, other: Identity) -> bool:
        """Whether both are the same to the last digit: so it is without the compiler if that is not needed."""
        return self.is_same(other) and self.message == other.message

    def as_json(self) -> dict[str, Any]:
        return {
            "error_type": self.error_type,
            "message": self.message,
            "frame": self.frame,
            "signal": self.signal,
        }


def _without_numbers(text: str) -> str:
    return " ".join(_NUMBER.sub("#", _PATH.sub("<path>", text)).split())
