"""Cases for accelerators that nobody has measured: no guards, no bugs that were seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case
from pt2bugs.curate.rules import check_compiles, check_header, check_imports, check_releases
from pt2bugs.report.corpus import corpus_page
from pt2bugs.report.site import Site
from suite import case_text

DOC = '"""Why it happens,\nwhat is right,\nand how it failed for the reporter."""\n'
PROGRAM = "import triton\n\n\ndef test_it(device): pass\n"
BUG = {"torch": "<2.14", "outcome": "wrong", "error": "AssertionError", "match": "9 of 10"}


def write(folder: Path, name: str = "pytorch_1", **settings: Any) -> Case:
    path = folder / f"{name}.py"
    path.write_text(case_text(DOC + PROGRAM, **settings))
    return parse_case(path)


@pytest.mark.parametrize(
    ("settings", "unmeasured"),
    [
        ({"devices": ["cuda"]}, True),
        ({"devices": ["cuda", "xpu"]}, True),
        ({"devices": ["cpu", "cuda"]}, False),
        ({"devices": ["cuda"], "guard": True}, False),
        ({"devices": ["cuda"], "bugs": [BUG]}, False),
    ],
)
def test_which_cases_wait_for_a_device(tmp_path: Path, settings: dict[str, Any], unmeasured: bool) -> None:
    assert write(tmp_path, **settings).unmeasured is unmeasured


def test_it_is_a_good_case_as_far_as_can_be_said(tmp_path: Path) -> None:
    case = write(tmp_path, devices=["cuda"])
    assert check_header(case).holds
    assert check_imports(case).holds
    findings = [check_releases(case, []), check_compiles(case, [])]
    assert [(finding.holds, finding.message) for finding in findings] == [(None, "not measured: needs cuda")] * 2
    assert check_imports(write(tmp_path, devices=["cpu", "cuda"])).holds is False, "a CPU has no triton"


def test_measured_it_is_judged_like_any_other(tmp_path: Path) -> None:
    case = write(tmp_path, devices=["cuda"])
    line = {"torch": "2.13.0+cu130", "graphs": 1, "frame": "", "verdict": "fail"}
    assert check_releases(case, [line]).message.startswith("not as its header says on 2.13.0")  # type: ignore[list-item]
    line["verdict"] = "pass"
    assert check_releases(case, [line]).holds is False, "seen failing nowhere"  # type: ignore[list-item]


def test_pages_count_it_apart(tmp_path: Path) -> None:
    cases = [
        write(tmp_path, "pytorch_1", devices=["cuda"]),
        write(tmp_path, "pytorch_2", bugs=[BUG]),
        write(tmp_path, "pytorch_3", guard=True),
    ]
    site = Site(cases, [])
    assert [case.id for case in site.bugs] == ["pytorch_2"]
    assert [case.id for case in site.guards] == ["pytorch_3"]
    assert "guard: not measured" in corpus_page(cases, [], [tmp_path])
