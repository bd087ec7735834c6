"""An entry that would take another failure of the same type for its bug is refused, with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.cli import main
from pt2bugs.curate.rules import problems_of
from pt2bugs.curate.specificity import identity_problem, other_failures, with_other_values
from seeded import write_case, write_journal
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
    assert "takes too long" in problem(tmp_path, {**WRONG, "match": r"(?:.|\w|\W)+$(?=x)"})


def test_file_and_line_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases" / "pytorch_1.py"
    path.parent.mkdir()
    path.write_text(case_text(PROGRAM, bugs=[{**WRONG, "match": "not close"}]))
    line = path.read_text().split("\n").index("# [[tool.pt2bugs.bug]]") + 1
    assert main(["check", "--no-run", "--cases", str(path.parent), "--results", str(tmp_path)]) == 1
    assert f"identity: {path}:{line}: the entry would also accept another difference" in capsys.readouterr().out
    (told,) = (problem for problem in problems_of(path) if problem.text.startswith("identity"))
    assert told.line == line


def test_what_is_invented_is_of_the_type_that_the_entry_names() -> None:
    case = parse_case(ROOT / "cases" / "dynamo" / "pytorch_163640.py")
    for bug in case.bugs:
        others = list(other_failures(case, bug))
        assert others
        assert {(other.seen.outcome, other.seen.error_type) for other in others} == {(bug.outcome, bug.error or "")}


def observed(message: str, error: str = "AssertionError", outcome: Outcome = Outcome.WRONG) -> Observation:
    return Observation(outcome, error, message)


@pytest.mark.parametrize(
    ("match", "accepted"),
    [
        ("gave", True),
        ("gave 3, not \\d+", False),
        ("gave \\d+, not \\d+", True),
        ("gave 3, not 4", False),
    ],
)
def test_a_pattern_refuses_another_wrong_value(tmp_path: Path, match: str, accepted: bool) -> None:
    path = tmp_path / "pytorch_1.py"
    path.write_text(case_text(PROGRAM, bugs=[{**WRONG, "match": match}]))
    case = parse_case(path)
    message = identity_problem(case, case.bugs[0], [observed("argmin of float64 gave 3, not 4")])
    assert bool(message) is accepted
    assert "the entry would also accept other values" in message or not accepted


@pytest.mark.parametrize("message", ["True is not False", "got -1.5e-3", "[1, 2]", "nan at index"])
def test_other_values(message: str) -> None:
    changed = with_other_values(observed(message))
    assert changed is not None
    assert changed.message != message


@pytest.mark.parametrize("message", ["", "float64 is not int8", "no values at all"])
def test_a_message_without_values(message: str) -> None:
    assert with_other_values(observed(message)) is None


def test_an_entry_that_takes_the_failure_of_another_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> bool:
        main(["check", "--no-run", "--cases", f"{tmp_path / 'cases'}", "--results", f"{tmp_path / 'results'}"])
        return "would also accept the failure of pytorch_2; tell them apart, as by `frame`" in capsys.readouterr().out

    bug = {**WRONG, "torch": "<2.10", "match": "^Tensor-likes are not close!$"}
    for number in (1, 2):
        issue = f"https://github.com/pytorch/pytorch/issues/{number}"
        path = write_case(tmp_path, f"pytorch_{number}", issue=issue, bugs=[bug])
        write_journal(tmp_path, path, {"2.8.0": "B", "2.10.0": "."})
    assert refused()
    write_case(tmp_path, "pytorch_2", issue=issue, bugs=[bug], **{"same-fix": "pytorch_1"})
    assert not refused(), "they are one bug"
