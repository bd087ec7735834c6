"""The page of the corpus: counts add up, lives are as measured, left-out bugs are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pt2bugs.bisect.evidence import Evidence
from pt2bugs.case.corpus import load_cases
from pt2bugs.report.corpus import corpus_page, life
from pt2bugs.report.history import History, histories
from pt2bugs.results.matrix import Results
from seeded import write_case, write_journal


@pytest.mark.parametrize(
    ("letters", "words"),
    [
        ("BB..", "2.8.0 to 2.9.1: there from the first, fixed in 2.10.0"),
        (".B..", "2.9.1 to 2.9.1: introduced after 2.8.0, fixed in 2.10.0"),
        ("..BB", "2.10.0 to 2.11.0: introduced after 2.9.1, not fixed yet"),
        (
            "B.B.",
            "2.8.0 to 2.8.0: there from the first, fixed in 2.9.1; "
            "2.10.0 to 2.10.0: introduced after 2.9.1, fixed in 2.11.0",
        ),
        ("BsB.", "2.8.0 to 2.10.0: there from the first, fixed in 2.11.0"),
        ("EFs.", "passes wherever measured"),
    ],
)
def test_life(tmp_path: Path, letters: str, words: str) -> None:
    releases = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), dict(zip(releases, letters, strict=True)))
    assert life(rows_of(tmp_path)) == words


def rows_of(folder: Path) -> list[History]:
    evidence = Evidence.load(Results(folder / "results"), load_cases([folder / "cases"]), pytest.fail)
    return histories(evidence.newest.lines(), evidence)


def test_page(tmp_path: Path) -> None:
    for number, component, symptom in ((1, "dynamo", "crash"), (2, "dynamo", "hang"), (3, "inductor", "crash")):
        settings: dict[str, Any] = {
            "component": component,
            "symptom": symptom,
            "title": f"a | b {number}",
            "guard": number == 3,
        }
        path = write_case(tmp_path, f"pytorch_{number}", **settings, bugs=[])
    write_journal(tmp_path, path, {"2.9.1": "."})
    (tmp_path / "left_out.toml").write_text('[pytorch_9]\nissue = "https://example.org/9"\nwhy = "needs a GPU"\n')
    page = corpus_page(load_cases([tmp_path]), rows_of(tmp_path), [tmp_path])
    assert "3 cases with 3 checks, measured on torch 2.9.1." in page
    assert "| dynamo |  |  |  |  |  | 1 | 1 |  |  |  | 2 |" in page
    assert "| all | 0 | 0 | 0 | 0 | 0 | 2 | 1 | 0 | 0 | 0 | 3 |" in page
    assert "a \\| b 1" in page
    assert "guard: passes wherever measured" in page
    assert "- [pytorch_9](https://example.org/9): needs a GPU" in page
