"""The documented bugs that a failure may be, by the engine of `pt2bugs match`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version
from pt2bugs.case.versions import public
from pt2bugs.match.known import KnownBugs
from pt2bugs.match.structure import Structure
from pt2bugs.results.folder import Results
from pt2bugs.triage.reproduce import Reproduction


def load_known(cases: Sequence[Path], results: Path, warn: Callable[[str], None]) -> KnownBugs:
    """Return the documented bugs.

    Args:
        cases: folders of the corpus.
        results: folder of its journal.
        warn: told of journal lines that are left out.
    """
    return KnownBugs.load(Results(results), cases, warn)


def known_bugs(known: KnownBugs, reproduction: Reproduction, torch: str, structure: Structure) -> list[dict[str, Any]]:
    """Return the documented bugs that a failure may be, best first, as `pt2bugs match --json` has them.

    Args:
        known: the documented bugs.
        reproduction: the failure.
        torch: the version that shows it.
        structure: what there is to recognize it by besides its words.
    """
    release = public(torch)
    recognized = (recognition.matches for recognition in known.recognize(text_of(reproduction), release))
    by_words = next((matches for matches in recognized if matches), ())
    identities = [match for match in by_words if match.is_known]
    alike = known.of_structure(structure, release) if not identities else []
    named = {match.case.id for match in alike}
    similar = [match for match in by_words if not match.is_known and match.case.id not in named]
    matches = [known.as_dict(match, release) for match in [*identities, *alike, *similar]]
    # A bug that is fixed on this release may be back, but anything else is more likely.
    return sorted(matches, key=lambda match: is_fixed(match, release))


def text_of(reproduction: Reproduction) -> str:
    """Return the failure as a reporter would paste it: the traceback, or the last words of a process that died.

    Args:
        reproduction: the failure.
    """
    identity, result = reproduction.identity, reproduction.result
    if identity.signal:
        number = getattr(signal, identity.signal, None)
        description = signal.strsignal(number) if number is not None else identity.signal
        return f"{result.observation.output_tail}\n{description} (core dumped)\n"
    if result.text:
        return result.text
    where = f'  File "{identity.frame.partition(":")[0]}", line 1, in {identity.frame.rpartition(" ")[2]}\n'
    head = "Traceback (most recent call last):\n" + (where if identity.frame else "")
    return f"{head}{identity.error_type}: {identity.message}\n" if identity.error_type else identity.message


def is_documented(known: Sequence[dict[str, Any]], torch: str) -> bool:
    """Return whether the first match is the same failure, and of a bug that is not fixed in that release.

    Args:
        known: matches, best first.
        torch: the version.
    """
    return bool(known) and known[0]["kind"] == "identity" and not is_fixed(known[0], torch)


def is_fixed(match: dict[str, Any], torch: str) -> bool:
    """Return whether the bug of a match is fixed in a release.

    Args:
        match: of a documented bug.
        torch: the version.
    """
    return bool(match["fixed"]) and Version(public(torch)) >= Version(match["fixed"])
