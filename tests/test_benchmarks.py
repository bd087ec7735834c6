"""What the benchmarks measure on is what the project writes; their figures are for `docs/evaluation/performance.md`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_a_generated_journal_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from generated import releases, write_corpus, write_journal
    from pt2bugs.case.corpus import load_cases
    from pt2bugs.results.journal import problem_of

    corpus, journal = tmp_path / "cases", tmp_path / "journal"
    write_corpus(corpus, 5)
    cells = write_journal(tmp_path, corpus, 40, releases(3))
    checks = sum(len(case.checks) for case in load_cases([corpus]))
    assert cells == 3 * checks
    lines = [json.loads(line) for file in sorted(journal.iterdir()) for line in file.read_text().splitlines()]
    assert len(lines) == cells * max(1, 40 // cells)
    assert [problem for line in lines if (problem := problem_of(line))] == []


# Those of mistakes.py define operators of torch when they are imported.
PROGRAMS = [path for path in sorted((ROOT / "benchmarks").glob("*.py")) if path.stem != "mistakes"]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_can_be_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the modules that it takes from beside it and from the tests."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, path.stem, raising=False)
    __import__(path.stem)


def test_every_program_of_a_thread_has_its_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from pt2bugs.case.corpus import load_cases
    from triage_threads import FOLDER, truths

    known = truths()
    assert set(known) == {path.stem for path in FOLDER.glob("*.py")}
    cases = {case.id: case for case in load_cases([ROOT / "cases"])}
    for name, truth in known.items():
        case = cases.get(truth.get("known", ""))
        of_thread = truth["known"] if case else truth.get("case-since", "")
        assert (f"pytorch_{truth['thread']}" in cases) == (of_thread in cases), f"{name}: the thread has a case"
        assert case is None or case.component in truth["component"], name


def test_what_is_right_about_a_triage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from triage_threads import rights_of

    truth = {"verdict": "bug", "rung": ["eager"], "class": "crash", "component": ["dynamo"], "known": "pytorch_1"}
    row = {"verdict": "bug", "rung": "eager", "class": "crash", "component": "fx", "known": [["similar", "pytorch_1"]]}
    assert rights_of(row, truth) == {"verdict": True, "rung": True, "class": True, "component": False, "known": False}
    assert rights_of(row, {"verdict": "not-a-bug"}) == {"verdict": False}
