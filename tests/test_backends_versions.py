"""The version of a package is an axis as torch's is: a backend's in `compare`, `bisect` and `matrix`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_torch import write_backend
from matrix_project import CHECK, Project
from pt2bugs.case.expectation import apart_from, pinned
from pt2bugs.cli import main
from seeded import write_backend_lines, write_case
from suite import case_text

VERSIONS = {"1.0": {"mends": "wrong"}, "1.1": {}, "1.9": {"breaks": "raise"}, "1.10": {"breaks": "raise"}}


def private_corpus(project: Project) -> Project:
    """Two checks of a backend `toyc`, each with a bug in some of its versions."""
    wheels = project.folder / "wheels"
    wheels.mkdir()
    for version, faults in VERSIONS.items():
        write_backend(wheels, "toyc", faults, version)
    for path in (project.folder / "cases").rglob("*.py"):
        path.unlink()
    for name, bug in (
        ("mends", {"packages": {"toyc": "<1.1"}, "outcome": "wrong", "match": "not close"}),
        ("breaks", {"packages": {"toyc": ">=1.9"}, "outcome": "raise", "match": "cannot compile"}),
    ):
        path = project.folder / "cases" / "dynamo" / f"{name}.py"
        path.write_text(case_text(CHECK.format(name=name), backends=["toyc"], bugs=[bug]))
    (project.folder / "cases" / "pt2bugs.toml").write_text('[backends.toyc]\nimport = "toyc"\n')
    return project


def test_two_versions_are_compared_searched_and_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    private_corpus(project)
    monkeypatch.chdir(project.folder)
    both = ("--backend", "toyc", "--with", "toyc==1.0", "--against", "toyc==1.10")
    where = ("--index", project.index, "--find-links", str(project.folder / "wheels"))
    done = project.run("compare", "2.6.0", *both, *where, "--json")
    told = json.loads(done.stdout)
    assert (told["from"], told["to"]) == ("toyc==1.0", "toyc==1.10")
    assert {change["case"]: change["change"] for change in told["changes"]} == {"mends": "fixed", "breaks": "broken"}
    assert done.returncode == 1
    assert "toyc==1.0 -> toyc==1.10 on torch 2.6.0: 1 broken, 1 fixed" in done.stderr
    assert main(["compare", *both, "--offline", "--markdown"]) == 1
    assert "### toyc==1.0 to toyc==1.10 on torch 2.6.0" in capsys.readouterr().out

    done = project.run("bisect", "--backend", "toyc", "--package", "toyc", "--torch", "2.6.0", *where, "--json")
    assert done.returncode == 0, done.stderr
    answers = {answer["case"]: answer["transitions"] for answer in json.loads(done.stdout)["answers"]}
    assert {
        case: [(change["kind"], change["before"], change["after"], change["fits_header"]) for change in changes]
        for case, changes in answers.items()
    } == {"mends": [("fixed", "1.0", "1.1", True)], "breaks": [("introduced", "1.1", "1.9", True)]}
    assert main(["bisect", "mends", "--backend", "toyc", "--package", "toyc>=1", "--offline"]) == 0
    shown = capsys.readouterr().out
    assert "fixed between toyc 1.0 and 1.1" in shown
    assert "reproduce: pt2bugs run mends --torch 2.6.0 --device cpu --backend toyc --with toyc==1.0 --rerun" in shown

    assert main(["backend", "toyc", "--offline", "--torch", "2.6.0"]) == 2
    assert "no line of it on torch 2.6.0 with torch alone, but with toyc==1.0, toyc==1.1," in capsys.readouterr().err
    assert main(["matrix", "--axis", "toyc", "--json"]) == 0
    (row, _) = json.loads(capsys.readouterr().out)
    assert (row["case"], row["extras"]) == ("breaks", "")
    assert list(row["releases"].items()) == [
        ("2.6.0+toyc.1.0", "pass"),
        ("2.6.0+toyc.1.1", "pass"),
        ("2.6.0+toyc.1.9", "xfail:raise"),
        ("2.6.0+toyc.1.10", "xfail:raise"),
    ]


def test_a_package_beside_a_backend_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_case(tmp_path, "pytorch_1", bugs=[])
    for version, outcome in (("1.26.4", "B"), ("2.4.0", ".")):
        write_backend_lines(tmp_path, tmp_path / "cases", "inductor", {"pytorch_1": outcome}, f"numpy=={version}")
    both = ("--backend", "inductor", "--with", "numpy==1.26.4", "--against", "numpy==2.4.0", "--offline")
    main(["compare", *both])
    assert capsys.readouterr().out.startswith("numpy==1.26.4 -> numpy==2.4.0 on torch ")
    assert main(["matrix", "--backend", "inductor", "--axis", "numpy", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert list(row["releases"].values()) == ["fail", "pass"]
    assert main(["matrix", "--backend", "inductor", "--axis", "triton"]) == 3
    message = "--axis triton: is no package that a selected line was measured with by version; there is numpy"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "2.9.1"], "compare needs two releases, A and B; or --against REQ, to compare packages on one"),
        (
            ["compare", "2.9.1", "2.13", "--backend", "toyc", "--with", "toyc==1", "--against", "toyc==2"],
            "--against compares packages on one release; name one, not 2.9.1 2.13",
        ),
        (
            ["compare", "--backend", "toyc", "--with", "toyc==1", "--against", "toyc==1", "--offline"],
            "--against toyc==1: is what it is compared with",
        ),
        (["compare", "--against", "toyc==1", "--offline"], "--with is for one backend: name it, and no other"),
        (["bisect", "--package", "toyc"], "--package toyc: its versions are searched with one --backend"),
        (["bisect", "--package", ">=1", "--backend", "toyc"], "--package >=1: is no requirement"),
    ],
)
def test_wrong_usage(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_case(tmp_path, "pytorch_1", backends=["toyc", "inductor"])
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_words_of_a_journal_that_pin_a_package() -> None:
    words = ("turbine", "toyc-1.1-py3-none-any.whl@01234567", "numpy==1.26.4", "other>=2")
    assert pinned(words) == (("toyc", "1.1"), ("numpy", "1.26.4"))
    assert apart_from(words, "Toyc") == ("1.1", ("turbine", "numpy==1.26.4", "other>=2"))
    assert apart_from(words, "other") == ("", words)
