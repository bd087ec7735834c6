"""A failure of each of ten known bugs, in ten forms that people paste, is recognized by the committed journal.

The messages and torch frames are those that the journal has of the real releases; the programs around them are not the
cases' own, so that nothing but torch's words tells.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pt2bugs.case.corpus import brought
from pt2bugs.match.known import KnownBugs
from pt2bugs.results.folder import Results

TEXTS = sorted((Path(__file__).parent / "tracebacks").glob("*.txt"))


@pytest.fixture(scope="module")
def known() -> KnownBugs:
    return KnownBugs.load(Results(brought("results")), [brought("cases")], print)


def test_ten_bugs_in_ten_forms() -> None:
    cases, forms = zip(*(path.stem.split(".") for path in TEXTS), strict=True)
    assert len(set(cases)) == len(set(forms)) == 10


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_it_is_recognized(known: KnownBugs, path: Path) -> None:
    text = path.read_bytes().decode()
    case = path.stem.partition(".")[0]
    assert case not in text
    tracebacks = known.recognize(text)
    assert tracebacks
    for recognized in tracebacks:
        assert recognized.is_known
        assert recognized.matches[0].case.id == case
