"""The overview of `pt2bugs backend` on the results of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from pt2bugs.case.vocabulary import COUNTED
from pt2bugs.cli import main


def test_the_overview_fits_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    assert main(["backend"]) == 0
    out, err = capsys.readouterr()
    above, head, *rows = [line for line in out.splitlines() if "  -  " not in line]
    assert head.split() == ["backend", "torch", "cells", "yours", "inherited", "yours", "claimed", "say", "passes"]
    assert above.split() == ["only", "not", "not", "cannot"]
    assert {len(row) for row in rows} == {len(head)}
    assert len(head) <= 80
    assert err.endswith(f" backends are measured ({COUNTED})\n")
