"""When two failures are the same: of one check on two backends, or of one cell on two days."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.case.expectation import has_identity
from pt2bugs.case.model import Bug
from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.case.words import FAILURES
from pt2bugs.results.record import Record

_VARIES = re.compile(r"0x[0-9a-fA-F]+|(?<![A-Za-z])[-+]?\d+(\.\d+)?(e[-+]?\d+)?|(?<=_)\d+|<(env|cache|python)>\S*")
_WRAPPED = re.compile(r"(?:[\w.]+\.)?(\w+(?:Error|Exception|Failed|Exit|Warning|Unsupported))(?:: |$)")
_WRAPPER = "BackendCompilerFailed"
LENGTH = 200


@dataclass(frozen=True)
class Failure:
    """The identity of a failure. `error` is the bare exception type, `message` the telling line without numbers.

    An exception from inside a backend reaches the user wrapped in one that names the backend; its identity is its own.
    """

    outcome: str
    error: str = ""
    signal: str = ""
    message: str = ""

    @property
    def summary(self) -> str:
        parts = " ".join(part for part in (self.outcome, self.signal, self.error) if part)
        return f"{parts}: {self.message}" if self.message else parts


def failure_of(record: Record) -> Failure | None:
    """The failure of a line; None if the check did not fail, or could not say."""
    if record["outcome"] not in {str(one) for one in FAILURES}:
        return None
    error, line = record["error_type"].rpartition(".")[2], telling_line(record["message"])
    if error == _WRAPPER and (found := _WRAPPED.match(line)):
        error, line = found[1], line[found.end() :]
    return Failure(record["outcome"], error, record["signal"], _VARIES.sub("N", line)[:LENGTH])


def is_same(one: Record, other: Record, documented: Sequence[Bug] = ()) -> bool:
    """Whether two lines show the same failure: the same identity, or the same documented bug."""
    failures = failure_of(one), failure_of(other)
    if None in failures:
        return False
    if failures[0] == failures[1]:
        return True
    seen = Observation.from_dict(one), Observation.from_dict(other)
    try:
        return any(all(has_identity(bug, each) for each in seen) for bug in documented if bug.match or bug.frame)
    except PatternTimeout:
        return False
