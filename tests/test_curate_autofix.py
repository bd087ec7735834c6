"""`check --fix`: the release that a case file pins, whichever way its dependencies are written."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.curate.autofix import autofix
from suite import case_text
from test_results_journal import record

SPREAD = '# dependencies = [\n#   "torch=={pin}",\n#   "numpy",\n#   "iree-turbine",\n# ]'
ONE_LINE = '# dependencies = ["torch=={pin}", "numpy"]'
BUG = {"torch": "<2.13", "outcome": "wrong", "error": "AssertionError"}


@pytest.mark.parametrize("written", [SPREAD, ONE_LINE])
@pytest.mark.parametrize(("pin", "then"), [("2.13.0", "2.12.1"), ("2.12.1", "2.12.1"), ("2.9.1", "2.12.1")])
def test_the_pin_is_the_newest_release_that_shows_the_bug(tmp_path: Path, written: str, pin: str, then: str) -> None:
    path = tmp_path / "pytorch_1.py"
    text = case_text("def test_it():\n    assert False\n", bugs=[BUG])
    lines = [line for line in text.split("\n") if not line.startswith("# dependencies")]
    lines.insert(1, written.format(pin=pin))
    path.write_text("\n".join(lines))
    records = [record(torch=release, verdict="xfail") for release in ("2.9.1", "2.12.1")]
    records.append(record(torch="2.13.0", verdict="pass"))
    fixed, _ = autofix(path, records)
    text = fixed.read_text()
    assert written.format(pin=then) in text
    assert text.count("# dependencies") == 1
    case = parse_case(fixed)
    assert case.dependencies[0] == f"torch=={then}"
    ast.parse(text)
