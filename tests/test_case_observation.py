"""What an observation says in a line."""

from __future__ import annotations

import pytest
from pt2bugs.case.observation import Observation, shortened
from pt2bugs.case.vocabulary import Outcome


@pytest.mark.parametrize(
    ("text", "told"),
    [("twelve signs", "twelve signs"), ("more than twelve", "more than t…"), ("ten letters  and", "ten letters…")],
)
def test_what_is_cut_says_so(text: str, told: str) -> None:
    assert shortened(text, 12) == told


def test_a_long_message_says_that_it_is_cut() -> None:
    seen = Observation(Outcome.RAISE, error_type="RuntimeError", message="expected " + "x" * 300)
    assert seen.summary == f"raise RuntimeError: expected {'x' * 190}…"
    assert Observation(Outcome.RAISE, error_type="RuntimeError", message="no").summary == "raise RuntimeError: no"
