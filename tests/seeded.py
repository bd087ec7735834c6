"""A corpus and a journal written by hand: what a letter stands for in each release of a check."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import Where, judge
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import FAILURES, Outcome, Verdict
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import JournalWriter, new_record
from suite import case_text

BUG = {"torch": "<2.10", "outcome": "wrong", "error": "AssertionError", "match": "not close"}
BLOCKED = {"torch": "<2.3", "blocked": True, "outcome": "raise", "error": "NotImplementedError"}

SEEN = {
    ".": Observation(Outcome.PASS),
    "B": Observation(Outcome.WRONG, "AssertionError", "Tensor-likes are not close!"),
    "F": Observation(Outcome.CRASH, message="died by SIGSEGV", signal="SIGSEGV"),
    "s": Observation(Outcome.SKIP, message="needs torch >=2.4"),
    "b": Observation(Outcome.RAISE, "NotImplementedError", "no such operator"),
    "E": Observation(Outcome.ERROR, message="canary on cpu with inductor: no compiler"),
}
"""Pass, the documented bug, another failure, skipped, the limitation of `BLOCKED`, a broken environment."""


START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def git_of(release: str) -> str:
    return f"{release.replace('.', '').ljust(40, '0')}"


def write_case(folder: Path, name: str, **settings: Any) -> Path:
    """A case file below ``folder/cases``."""
    path = folder / "cases" / "dynamo" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    settings = {"bugs": [BUG], **settings}
    path.write_text(case_text("def test_it(backend):\n    pass\n", **settings))
    return path


def write_journal(
    folder: Path,
    path: Path,
    letters: Mapping[str, str],
    *,
    results: str = "results",
    start: datetime = START,
    run_id: str = "seeded",
    python: str = "3.11.7",
) -> None:
    """Lines of the case at `path` below ``folder/results``: for each release the letters of its repeats."""
    case = parse_case(path)
    writer = JournalWriter(folder / results / "journal" / f"{case.id}.jsonl")
    for release, repeats in letters.items():
        verdicts = []
        for number, letter in enumerate(repeats, 1):
            seen = SEEN[letter]
            where = Where(release, python, "cpu", "inductor")
            verdicts.append(str(judge(case, "test_it", where, seen).verdict))
            final = verdicts[-1] if number < len(repeats) or len(set(verdicts)) == 1 else "flaky"
            record = new_record(
                Cell(case, case.check("test_it"), "cpu", "inductor"), seen, Verdict(final),
                EnvironmentFacts(torch=f"{release}+cpu", torch_git=git_of(release), python=python),
                run_id=run_id, started=start + timedelta(milliseconds=number), extras=(),
                repeat=number, repeats=len(repeats),
            )  # fmt: skip
            writer.append(record)
    writer.close()


def write_backend_lines(
    folder: Path,
    cases: Path,
    backend: str,
    outcomes: Mapping[str, str],
    *extras: str,
    torch: str = "2.13.0",
    journal: str = "seeded",
) -> None:
    """Lines of a backend on a release, in the journal of that name: for each case id a letter."""
    kept = Results(folder / "results").folder_of_backend(backend) / "journal" / f"{journal}.jsonl"
    writer = JournalWriter(kept)
    for name, letter in outcomes.items():
        case = parse_case(next(cases.rglob(f"{name}.py")))
        seen = SEEN[letter]
        verdict = Verdict.FAIL if seen.outcome in FAILURES else Verdict(str(seen.outcome))
        record = new_record(
            Cell(case, case.check("test_it"), "cpu", backend), seen, verdict,
            EnvironmentFacts(torch=f"{torch}+cpu", torch_git=git_of(torch), python="3.11.7"),
            run_id="seeded", started=START, extras=extras,
        )  # fmt: skip
        writer.append(record)
    writer.close()
