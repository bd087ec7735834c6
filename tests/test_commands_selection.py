"""CASE on the command line: an id, a glob, a number, an address, a path, and ``::check`` after any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pt2bugs.case.corpus import brought
from pt2bugs.cli import main
from pt2bugs.commands.options import LinesOptions, SelectionOptions
from pt2bugs.commands.selection import results_of, select_cases, select_cells
from suite import case_text

BODY = "def test_a(backend):\n    pass\n\n\ndef test_b(backend):\n    pass\n"


@pytest.fixture
def selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The names of the cells that some words select, in a corpus of three cases and one file beside it."""
    for name, folder, issue in (
        ("pytorch_12", "dynamo", "https://github.com/pytorch/pytorch/issues/12"),
        ("torch_mlir_12", "backend", "https://github.com/llvm/torch-mlir/issues/12"),
        ("shift_by_width", "inductor", "https://github.com/pytorch/pytorch/issues/34"),
    ):
        path = tmp_path / "cases" / folder / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(case_text(BODY, issue=issue, title=f"About {name}", component=folder, symptom="wrong-result"))
    (tmp_path / "mine_1.py").write_text(case_text(BODY, component="fx"))
    (tmp_path / "script.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)

    def select(*arguments: str) -> list[str]:
        options = SelectionOptions(patterns=arguments)
        return [f"{cell.case.id}::{cell.check.name}" for cell in select_cells(options, select_cases(options)[1])]

    return select


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (["12"], ["pytorch_12", "torch_mlir_12"]),
        (["34"], ["shift_by_width"]),
        (["https://github.com/pytorch/pytorch/issues/34/"], ["shift_by_width"]),
        (["http://www.github.com/pytorch/pytorch/issues/12#issuecomment-7"], ["pytorch_12"]),
        (["cases/backend/torch_mlir_12.py"], ["torch_mlir_12"]),
        (["cases/dynamo"], ["pytorch_12"]),
        (["./cases/dynamo/"], ["pytorch_12"]),
        (["mine_1.py"], ["mine_1"]),
        (["*_12", "34"], ["pytorch_12", "shift_by_width", "torch_mlir_12"]),
    ],
)
def test_cases(selected: Callable[..., list[str]], arguments: list[str], ids: list[str]) -> None:
    assert selected(*arguments) == [f"{id_}::{check}" for id_ in ids for check in ("test_a", "test_b")]


def test_checks(selected: Callable[..., list[str]]) -> None:
    assert selected("pytorch_12::test_b") == ["pytorch_12::test_b"]
    assert selected("34::test_a", "cases/dynamo/pytorch_12.py::test_*") == [
        "pytorch_12::test_a",
        "pytorch_12::test_b",
        "shift_by_width::test_a",
    ]
    assert selected("34::test_b", "34::test_a") == ["shift_by_width::test_a", "shift_by_width::test_b"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("56", "no case '56'; `pt2bugs new 56` makes a case of it, `pt2bugs match FILE` recognizes a traceback"),
        ("https://github.com/pytorch/pytorch/issues/56", "no case 'https://"),
        ("cases/nowhere.py", "cases/nowhere.py: there is no such file or folder"),
        ("cases", "no case 'cases'; ./cases is the folder"),
        ("script.py", "script.py: has no '# /// script' header"),
        ("34::test_c", "there is test_a, test_b"),
        ("34::test_a[cpu-inductor]", "its device and backend go to --device and --backend"),
        ("pytorch_13", "did you mean pytorch_12?"),
    ],
)
def test_what_names_none(
    selected: Callable[..., list[str]], word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", word]) == 2
    assert message in capsys.readouterr().err


def test_text(selected: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--text", "ABOUT shift"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["shift_by_width"]
    assert main(["list", "--text", "frobnicator"]) == 3
    assert "no selected case has the words 'frobnicator'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        (LinesOptions(), None),
        (LinesOptions(cases=[Path("mine")]), Path("results")),
        (LinesOptions(patterns=["./mine/pytorch_1.py"]), Path("results")),
        (LinesOptions(cases=[Path("mine")], results=Path("other")), Path("other")),
    ],
)
def test_another_corpus_has_its_results_here(
    options: LinesOptions, folder: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert results_of(options).folder == (folder or brought("results"))
