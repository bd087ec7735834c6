"""Step 6, first half: which cases of the corpus the failure is, by the engine of `pt2bugs match`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pt2bugs.case.expectation import public
from pt2bugs.match.known import KnownBugs
from pt2bugs.results.matrix import Results
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.verdict import is_fixed


def known_bugs(
    found: Reproduction, torch: str, cases: Sequence[Path], results: Path, warn: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The matches, best first, as `pt2bugs match --json` has them."""
    known = KnownBugs.load(Results(results), cases, warn)
    release = public(torch)
    for one in known.recognize(text_of(found), release):
        if one.matches:
            matches = [known.as_dict(match, release) for match in one.matches]
            # A bug that is fixed on this release may be back, but anything else is more likely.
            return sorted(matches, key=lambda match: is_fixed(match, release))
    return []


def text_of(found: Reproduction) -> str:
    """The failure as a reporter would paste it: the traceback, or the last words of a process that died."""
    identity, trial = found.identity, found.trial
    if identity.signal:
        number = getattr(signal, identity.signal, None)
        description = signal.strsignal(number) if number is not None else identity.signal
        return f"{trial.observation.output_tail}\n{description} (core dumped)\n"
    if trial.text:
        return trial.text
    where = f'  File "{identity.frame.partition(":")[0]}", line 1, in {identity.frame.rpartition(" ")[2]}\n'
    head = "Traceback (most recent call last):\n" + (where if identity.frame else "")
    return f"{head}{identity.error_type}: {identity.message}\n" if identity.error_type else identity.message
