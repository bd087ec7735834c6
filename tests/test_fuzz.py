"""No text from outside breaks what reads it: some of each kind in every run, and all that fuzzing has found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fuzzing import OBSERVED, TARGETS
from hypothesis import HealthCheck, given, settings
from pt2bugs.case.vocabulary import Outcome

_OOM = next(number for number, seen in enumerate(OBSERVED) if seen.outcome is Outcome.OOM)

FINDS: dict[str, tuple[str, Any]] = {
    # A tree of 1,500 levels, and a number of 9,000 digits: Python reads them, and cannot write them.
    "a long sum": ("triage", (0, [(0, 0, "1" + "+1" * 1500)], "", "")),
    "a long number": ("triage", (0, [(0, 0, "0x" + "f" * 9000)], "", "")),
    "a name that is global too late": ("triage", (0, [(0, 0, "x = 1\nglobal x\n")], "", "")),
    "a module with a long name": ("triage", (0, [(0, 0, f"import {'f' * 300}\n")], "", "")),
    "a byte order mark": ("header", (0, [(0, 0, "\ufeff")], [])),
    # Patterns that did not find the message that they were made of.
    "a message of blanks": ("triage", (0, [], "\n\n", "RuntimeError")),
    "a backslash before a number": ("triage", (0, [], "\\1e999", "RuntimeError")),
    "a negative number": ("triage", (0, [], "a size of -5", "RuntimeError")),
    "a message of boilerplate": ("triage", (0, [], '  File "a.py", line 1, in f\n', "RuntimeError")),
    # `bless` wrote the signal that ended what was over its memory, which no entry may have.
    "a signal from the supervisor": ("header", (0, [], [0, _OOM])),
}


@pytest.mark.parametrize("name", TARGETS)
def test_any_text(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]

    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(target.values)
    def attempt(value: Any) -> None:
        target.hold(tmp_path, value)

    attempt()


@pytest.mark.parametrize("name", FINDS)
def test_what_was_found(name: str, tmp_path: Path) -> None:
    target, value = FINDS[name]
    TARGETS[target].hold(tmp_path, value)
