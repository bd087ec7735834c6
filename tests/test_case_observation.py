"""What an observation says in a line."""

from __future__ import annotations

import pytest
from pt2bugs.case.observation import shortened


@pytest.mark.parametrize(
    ("text", "told"),
    [("twelve signs", "twelve signs"), ("more than twelve", "more than t…"), ("ten letters  and", "ten letters…")],
)
def test_what_is_cut_says_so(text: str, told: str) -> None:
    assert shortened(text, 12) == told
