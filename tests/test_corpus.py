"""The page of the corpus: counts add up, lives are as measured, left-out bugs are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from suite import case_text

from harness.case import load_cases
from harness.report.corpus import corpus_page, life


def cells(*verdicts: tuple[str, str], check: str = "test_a") -> pd.DataFrame:
    rows = [("pytorch_1", check, "cpu", "eager", "", torch, verdict) for torch, verdict in verdicts]
    return pd.DataFrame(rows, columns=["case", "check", "device", "backend", "extras", "torch", "verdict"])


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ("xfail xfail pass pass", "2.8.0 to 2.9.1: there from the first, fixed in 2.10.0"),
        ("pass xfail pass pass", "2.9.1 to 2.9.1: introduced after 2.8.0, fixed in 2.10.0"),
        ("pass pass xfail xfail", "2.10.0 to 2.11.0: introduced after 2.9.1, not fixed yet"),
        (
            "xfail pass xfail pass",
            "2.8.0 to 2.8.0: there from the first, fixed in 2.9.1; "
            "2.10.0 to 2.10.0: introduced after 2.9.1, fixed in 2.11.0",
        ),
        ("xfail skip xfail pass", "2.8.0 to 2.10.0: there from the first, fixed in 2.11.0"),
        ("error fail skip pass", "passes wherever measured"),
    ],
)
def test_life(verdicts: str, words: str) -> None:
    releases = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
    assert life(cells(*zip(releases, verdicts.split(), strict=True))) == words


def test_page(tmp_path: Path) -> None:
    for number, component, symptom in ((1, "dynamo", "crash"), (2, "dynamo", "hang"), (3, "inductor", "crash")):
        settings: dict[str, Any] = {
            "component": component,
            "symptom": symptom,
            "title": f"a | b {number}",
            "guard": number == 3,
        }
        (tmp_path / f"pytorch_{number}.py").write_text(case_text('"""Why."""\ndef test_a(): pass\n', **settings))
    (tmp_path / "left_out.toml").write_text('[pytorch_9]\nissue = "https://example.org/9"\nwhy = "needs a GPU"\n')
    page = corpus_page(load_cases([tmp_path]), cells(("2.9.1", "xfail")), [tmp_path])
    assert "3 cases with 3 checks, measured on torch 2.9.1." in page
    assert "| dynamo |  |  |  |  |  | 1 | 1 |  |  |  | 2 |" in page
    assert "| all | 0 | 0 | 0 | 0 | 0 | 2 | 1 | 0 | 0 | 0 | 3 |" in page
    assert "a \\| b 1" in page
    assert "guard: passes wherever measured" in page
    assert "- [pytorch_9](https://example.org/9): needs a GPU" in page
