"""What `pt2bugs run` names as the next step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case
from pt2bugs.case.observation import NOT_IMPORTED
from pt2bugs.commands.run import next_step
from pt2bugs.engine.check import NOTHING_COMPILED
from seeded import write_case

FAIL: Any = {"verdict": "fail", "message": "Tensor-likes are not close!"}
IDLE: Any = {"verdict": "error", "message": NOTHING_COMPILED}
FOREIGN: Any = [
    {"verdict": "error", "message": f"{NOT_IMPORTED}: no such module", "torch": f"2.{minor}.0+cpu"} for minor in (10, 9)
]
BROKEN: Any = {"verdict": "error", "message": "canary on cpu with inductor: no compiler"}


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    paths = [write_case(tmp_path, "pytorch_1", bugs=[]), write_case(tmp_path, "pytorch_2")]
    paths.append(write_case(tmp_path, "pytorch_3", bugs=[], guard=True))
    return [parse_case(path) for path in paths]


@pytest.mark.parametrize(
    ("records", "step"),
    [
        ([], ""),
        ([FAIL, BROKEN], "pt2bugs bless pytorch_1"),
        ([BROKEN], ""),
        (
            [FAIL, *FOREIGN],
            "requires-torch in the header, if torch 2.10.0 has no such API, then pt2bugs run pytorch_1 again",
        ),
        ([FAIL, IDLE], "make the check compile something on every release, then pt2bugs run pytorch_1 again"),
    ],
)
def test_of_a_case_without_entries(cases: list[Case], records: list[Any], step: str) -> None:
    """Where nothing was compiled there is no answer, and entries would be wrong about that release."""
    assert next_step([record | {"case": "pytorch_1"} for record in records], cases) == step


@pytest.mark.parametrize("name", ["pytorch_2", "pytorch_3"])
def test_of_one_that_has_them_and_of_a_guard(cases: list[Case], name: str) -> None:
    assert not next_step([FAIL | {"case": name}], cases)
