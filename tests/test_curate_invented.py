"""An entry that would take another failure of the same type for its bug is refused, with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.cli import main
from pt2bugs.curate.invented import identity_problem, invented_failures
from pt2bugs.curate.problems import problems_of
from suite import case_text

ROOT = Path(__file__).parent.parent
PROGRAM = '''"""Why it happens,
what is right,
and the source."""

import torch


def first_pair(pairs):
    left, right = next(zip(pairs, pairs))
    return left + right


def test_pairs(backend):
    torch.testing.assert_close(torch.compile(first_pair, backend=backend)(torch.ones(3)), torch.tensor(2.0))


if __name__ == "__main__":
    test_pairs("inductor")
'''
WRONG = {"outcome": "wrong", "error": "AssertionError"}
INTERNAL = {"outcome": "raise", "error": "torch._dynamo.exc.InternalTorchDynamoError"}
BACKEND = {"outcome": "raise", "error": "torch._dynamo.exc.BackendCompilerFailed"}


def problem(folder: Path, entry: dict[str, Any]) -> str:
    path = folder / "pytorch_1.py"
    path.write_text(case_text(PROGRAM, bugs=[entry]))
    case = parse_case(path)
    return identity_problem(case, case.bugs[0])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({**WRONG, "match": "not close"}, "another difference of assert_close"),
        ({**WRONG, "match": r"Greatest absolute difference: \d+\.\d+"}, "another difference of assert_close"),
        ({**WRONG, "match": r"Expected -?\d+ but got"}, "another difference of assert_close"),
        ({**WRONG, "match": "'shape' do not match"}, "another difference of assert_close"),
        ({**WRONG, "match": "^$"}, "an empty message"),
        ({**WRONG, "match": ""}, "an empty message"),
        ({**INTERNAL, "match": "^$", "frame": r"convert_frame\.py"}, "an empty message"),
        ({**INTERNAL, "match": "list index out of range"}, "another message"),
        ({**INTERNAL, "match": "zip"}, "any failure there, as it prints lines of the program itself"),
        ({**INTERNAL, "match": "suppress this exception"}, "the advice that Dynamo ends every failure with"),
        ({**BACKEND, "match": "backend='inductor' raised"}, "another message"),
        ({**BACKEND, "match": "JIT compilation failed"}, "another message"),
        ({"outcome": "crash", "signal": "SIGFPE"}, "any other crash by SIGFPE"),
        ({"outcome": "crash", "signal": "SIGABRT", "output": r"line \d+ in call"}, "any other crash by SIGABRT"),
        ({"outcome": "crash", "match": "died by"}, "any other crash"),
        ({"outcome": "timeout"}, "any other timeout"),
        ({"outcome": "timeout", "frame": "torch/_dynamo/"}, "any other timeout"),
        ({"outcome": "oom", "match": "over its limit"}, "any other oom"),
    ],
    ids=str,
)
def test_refused(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    assert message in problem(tmp_path, entry)


@pytest.mark.parametrize(
    "entry",
    [
        {**WRONG, "match": "Greatest absolute difference: 12.0"},
        {**WRONG, "match": "Mismatched elements: 6 / 15"},
        {**WRONG, "match": "the hook did not run"},
        {**INTERNAL, "match": "^$", "frame": r"convert_frame\.py:\d+ _compile\ntorch/_dynamo/guards\.py:\d+ get"},
        {**INTERNAL, "match": r"tp_iter_impl not implemented for zip|type=zip"},
        {"outcome": "crash", "signal": "SIGFPE", "output": r'first\):\n  File "[^"\n]+", line \d+ in call'},
        {"outcome": "timeout", "frame": r"partitioners\.py:\d+ find_first_unfusible"},
    ],
    ids=str,
)
def test_accepted(tmp_path: Path, entry: dict[str, Any]) -> None:
    assert problem(tmp_path, entry) == ""


def test_a_pattern_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pt2bugs.case.patterns.DEADLINE_S", 0.2)
    assert "takes too long" in problem(tmp_path, {**WRONG, "match": r"(\w+\s?)+$(?<!x)"})


def test_file_and_line_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases" / "pytorch_1.py"
    path.parent.mkdir()
    path.write_text(case_text(PROGRAM, bugs=[{**WRONG, "match": "not close"}]))
    line = path.read_text().split("\n").index("# [[tool.pt2bugs.bug]]") + 1
    assert main(["check", "--no-run", "--cases", str(path.parent), "--results", str(tmp_path)]) == 1
    assert f"identity: {path}:{line}: the entry would also accept another difference" in capsys.readouterr().out
    (found,) = (one for one in problems_of(path) if one.text.startswith("identity"))
    assert found.line == line


def test_what_is_invented_is_of_the_type_that_the_entry_names() -> None:
    case = parse_case(ROOT / "cases" / "dynamo" / "pytorch_163640.py")
    for bug in case.bugs:
        found = list(invented_failures(case, bug))
        assert found
        assert {(one.seen.outcome, one.seen.error_type) for one in found} == {(bug.outcome, bug.error or "")}
