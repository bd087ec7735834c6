"""What was measured of backends is told of the newest release, whose journals alone are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pt2bugs.backends.measured import MeasuredBackend, measured_backends
from pt2bugs.case.corpus import load_cases
from pt2bugs.cli import main
from pt2bugs.results.folder import Results
from seeded import write_backend_lines, write_case


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("pytorch_1", "pytorch_2"):
        write_case(tmp_path, name)
    return tmp_path


def lines(project: Path, torch: str, letters: str, journal: str = "") -> None:
    seen = dict(zip(("pytorch_1", "pytorch_2"), letters, strict=False))
    name = journal or f"torch-{torch}-py3.11"
    write_backend_lines(project, project / "cases", "mine", seen, torch=torch, journal=name)


def measured(project: Path) -> list[tuple[str, str, int]]:
    corpus = load_cases([project / "cases"])
    answered = measured_backends(Results(project / "results"), corpus, corpus, print)
    return [
        (backend.name, backend.torch, sum(bool(answer.record) for answer in backend.answers)) for backend in answered
    ]


def test_older_journals_are_not_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines(project, "2.9.1", "BB")
    lines(project, "2.10.0", ".B")
    older = project / "results/backends/mine/journal/torch-2.9.1-py3.11.jsonl"
    first, second = older.read_text().splitlines()
    older.write_text(f"{first}\ntorn\n{second}\n")
    corpus, warnings = load_cases([project / "cases"]), list[str]()
    (backend,) = measured_backends(Results(project / "results"), corpus, corpus, warnings.append)
    assert (backend.torch, warnings) == ("2.10.0", [])
    monkeypatch.chdir(project)
    assert main(["backend", "mine", "--offline"]) in (0, 1)
    Results(project / "results", ["mine"]).load(corpus, warnings.append)
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("journals", "torch", "answers"),
    [
        ([("2.9.1", "BB", ""), ("2.10.0", "BB", "merged")], "2.10.0", 2),
        ([("2.9.1", "BB", "merged"), ("2.10.0", "B", "")], "2.10.0", 1),
        ([("2.9.1", "BB", "merged")], "2.9.1", 2),
        ([("2.13.0", "BB", "torch-2.9.1-py3.11"), ("2.10.0", "B", "")], "2.13.0", 2),
    ],
    ids=["newest without a release in its name", "older without one", "none has one", "named by another release"],
)
def test_the_newest_release_counts_whatever_files_are_called(
    project: Path, journals: list[tuple[str, str, str]], torch: str, answers: int
) -> None:
    for release, letters, journal in journals:
        lines(project, release, letters, journal)
    assert measured(project) == [("mine", torch, answers)]


def test_a_release_without_answers_is_passed_over(project: Path) -> None:
    lines(project, "2.9.1", "BB")
    newer = project / "results/backends/mine/journal/torch-2.10.0-py3.11.jsonl"
    newer.write_text(
        newer.with_name("torch-2.9.1-py3.11.jsonl").read_text().replace("2.9.1", "2.10.0").replace("pytorch_", "gone_")
    )
    assert measured(project) == [("mine", "2.9.1", 2)]


@pytest.mark.parametrize(
    ("words", "torch"), [([], "2.10.1"), (["--torch", "2.10"], "2.10.1"), (["--torch", "2.10.0"], "2.10.0")]
)
def test_offline_a_word_means_the_newest_that_was_measured(
    project: Path,
    words: list[str],
    torch: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for release in ("2.9.1", "2.10.0", "2.10.1"):
        lines(project, release, "BB")
    monkeypatch.chdir(project)
    main(["backend", "mine", "--offline", "--json", *words])
    assert json.loads(capsys.readouterr().out)["torch"] == torch


def test_offline_a_release_that_was_not_measured_is_an_error(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(project, "2.9.1", "BB")
    monkeypatch.chdir(project)
    assert main(["backend", "mine", "--offline", "--torch", "2.10"]) == 2
    assert "the journal has no line of it on torch 2.10" in capsys.readouterr().err


def test_the_packages_of_an_extra_have_versions() -> None:
    def beside(torch: str, *extras: str) -> list[str]:
        return MeasuredBackend("turbine_cpu", torch, torch, "3.11", extras, []).packages

    pinned = ["iree-turbine==3.9.0", "iree-base-compiler==3.9.0", "iree-base-runtime==3.9.0"]
    assert beside("2.15.0", "turbine", "mine==1.0") == [*pinned, "mine==1.0"]
    assert beside("2.2.2", "turbine") == ["turbine"], "made for another torch"
