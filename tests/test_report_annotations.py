"""Annotations and the summary of a job: GitHub reads from them what was meant, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case
from pt2bugs.report.annotations import MAX_ROWS, Measured, run_annotations, run_summary, workflow_command
from pt2bugs.results.journal import Record
from seeded import write_case
from test_results_journal import record


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return parse_case(write_case(tmp_path, "pytorch_1", title="Adds | 100%"))


def line(case: Case, verdict: str, **values: object) -> Record:
    where = {"torch": "2.9.1+cpu", "python": "3.11.7", "device": "cpu", "backend": "inductor"}
    return record(**{"case": case.id, "check": "test_it", "outcome": "raise", **where, "verdict": verdict, **values})


def test_a_command_is_escaped() -> None:
    assert workflow_command("error", "a: 100%\r\n::stop", file="a,b:c%.py", line="3", title="") == (
        "::error file=a%2Cb%3Ac%25.py,line=3::a: 100%25%0D%0A::stop"
    )
    assert workflow_command("notice", "text") == "::notice::text"


def test_at_the_line_that_it_is_about(case: Case, tmp_path: Path) -> None:
    source = case.path.read_text().splitlines()
    check = source.index("def test_it(backend):") + 1
    entry = next(number for number, text in enumerate(source, 1) if "[[tool.pt2bugs.bug]]" in text)
    lines = [
        line(case, "xpass", outcome="pass"),
        line(case, "fail", error_type="RuntimeError", message="RuntimeError: a\nb"),
    ]
    fail, xpass = run_annotations(lines, {}, {case.id: case}, tmp_path)
    assert fail == (
        f"::error file=cases/dynamo/pytorch_1.py,line={check},title=torch 2.9.1+cpu pytorch_1%3A fail::"
        "test_it[cpu-inductor]: raise RuntimeError: a%0AAdds | 100%25%0Ahttps://example.org/issues/1"
    ), "the failure that nobody documented comes first"
    assert xpass.startswith(
        f"::error file=cases/dynamo/pytorch_1.py,line={entry},title=torch 2.9.1+cpu pytorch_1%3A xp"
    )


def test_a_file_outside_the_checkout_and_an_unknown_case(case: Case, tmp_path: Path) -> None:
    (told,) = run_annotations([line(case, "fail")], {}, {case.id: case}, tmp_path / "elsewhere")
    assert told.startswith("::error title=torch 2.9.1+cpu"), "a line of no file says nothing"
    (told,) = run_annotations([line(case, "fail")], {}, {}, tmp_path)
    assert told == "::error title=torch 2.9.1+cpu pytorch_1%3A fail::test_it[cpu-inductor]: raise"


def test_a_broken_environment_is_one_problem(case: Case, tmp_path: Path) -> None:
    broken = [line(case, "error", message="canary: no compiler", check=f"test_{number}") for number in range(5)]
    assert len(list(run_annotations(broken, {}, {case.id: case}, tmp_path))) == 1
    told = list(run_annotations(broken, {"torch 2.9.1": "canary: no compiler"}, {case.id: case}, tmp_path))
    assert told == ["::error title=torch 2.9.1%3A broken environment::canary: no compiler"]


def test_the_summary(case: Case) -> None:
    lines = [
        line(case, "pass"),
        line(case, "xfail"),
        line(case, "pass", torch="2.10.0"),
        line(case, "fail", message="<a> | b"),
    ]
    text = run_summary(Measured("shard 1/3", lines, lines[-1:], unanswered=2), {case.id: case})
    assert text.startswith("## pt2bugs: shard 1/3\n\n1 of 4 cells are not as expected; 2 have no answer.\n")
    assert (
        "| torch | pass | xfail | fail |\n| --- | --- | --- | --- |\n| 2.9.1 | 1 | 1 | 1 |\n| 2.10.0 | 1 |  |  |"
        in text
    )
    assert "[pytorch_1](https://example.org/issues/1) Adds \\| 100%" in text
    assert "raise &#60;a> \\| b |" in text


def test_a_summary_has_an_end(case: Case) -> None:
    many = [line(case, "fail", message="x" * 4000) for _ in range(5000)]
    text = run_summary(Measured("", many, many), {case.id: case})
    assert len(text.encode()) < 1 << 20
    assert f"And {5000 - MAX_ROWS} more." in text


def test_a_summary_of_nothing_and_of_broken_environments(case: Case) -> None:
    assert run_summary(Measured("shard 9/9", [], []), {}) == "## pt2bugs: shard 9/9\n\nNo cells.\n"
    broken = [line(case, "error", message="no g++")]
    text = run_summary(Measured("", broken, broken, failures={"torch 2.9.1": "no g++"}), {case.id: case})
    assert "- **torch 2.9.1**: no g++" in text
    assert "pytorch" not in text
