"""`pt2bugs isolate` and `pt2bugs hotfix` over real environments, made by real uv from wheels of two fake torches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_torch import build_wheels, serve_index
from matrix_project import Project
from suite import case_text
from test_isolate_isolation import CHECK, OLD, new

FIXED = new(("def clamp(row):\n    return row", "def clamp(row):\n    return row if row > 0 else -99"))
BUG = {"torch": "<2.91", "outcome": "wrong", "error": "AssertionError", "match": "row -3 gives loaded"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("wheels")
    files = {"2.89.0": {"lowering.py": OLD + "\n"}, "2.90.0": {"lowering.py": OLD}, "2.91.0": {"lowering.py": FIXED}}
    build_wheels(folder, {key: {} for key in files}, files)
    with serve_index(folder, tmp_path_factory.mktemp("index")) as url:
        yield url


@pytest.fixture
def project(tmp_path: Path, home: Path, index: str) -> Project:
    project = Project(tmp_path, home, index)
    for path in (tmp_path / "cases").rglob("*.py"):
        path.unlink()
    (tmp_path / "cases" / "dynamo" / "row.py").write_text(case_text(CHECK, bugs=[BUG]))
    return project


def isolate(project: Project, *arguments: str) -> tuple[int, str, Any]:
    done = project.run("isolate", *arguments, "--index", project.index, "--json")
    return done.returncode, done.stderr, json.loads(done.stdout) if done.stdout else None


def test_a_case_and_its_hotfix(project: Project) -> None:
    assert project.matrix("2.90.0", "2.91.0").returncode == 0
    journal = project.lines
    status, stderr, answer = isolate(project, "row", "--patch", "row.diff")
    assert status == 0, stderr
    (told,) = answer["isolations"]
    assert answer["schema"] == 1
    assert (told["bad"], told["good"], told["direction"], told["evidence"]) == ("2.90.0", "2.91.0", "fixed", "proved")
    assert [(unit["file"], unit["qualname"]) for unit in told["units"]] == [("lowering.py", "clamp")]
    kept = json.loads((project.folder / "results" / "fixes" / "row.json").read_text())
    assert kept == answer
    assert project.lines == journal, "what a patched copy shows is no result of a release"
    patch = (project.folder / "row.diff").read_text()
    assert "+    return row if row > 0 else -99" in patch

    done = project.run("hotfix", "row", "--torch", "2.90.0", "-o", "hot.diff", "--index", project.index)
    assert done.returncode == 0, done.stderr
    assert (project.folder / "hot.diff").read_text() == patch
    assert "no installation was changed" in done.stderr
    done = project.run("hotfix", "row", "--torch", "2.89.0", "--index", project.index)
    assert (done.returncode, done.stdout) == (0, patch.replace("index", "index")), done.stderr
    done = project.run("hotfix", "row", "--torch", "2.91.0", "--index", project.index)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs no hotfix" in done.stderr


def test_the_journal_may_be_of_another_python(project: Project) -> None:
    assert project.matrix("2.90.0", "2.91.0").returncode == 0
    for path in (project.folder / "results" / "journal").glob("*.jsonl"):
        records = [{**json.loads(line), "python": "3.8.1"} for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    status, stderr, answer = isolate(project, "row", "--python", f"3.{sys.version_info[1]}")
    assert status == 0, stderr
    assert answer["isolations"][0]["evidence"] == "proved"


def test_what_broke_it(project: Project) -> None:
    """The same pair the other way round: with the older release as the good one."""
    path = project.folder / "cases" / "dynamo" / "row.py"
    check = CHECK.replace('== "refused"', '== "loaded"')
    path.write_text(case_text(check, bugs=[{**BUG, "torch": ">=2.91", "match": "row -3 gives refused"}]))
    status, stderr, answer = isolate(project, "row", "--introduced", "--from", "2.90.0", "--to", "2.91.0")
    assert status == 0, stderr
    (told,) = answer["isolations"]
    assert (told["bad"], told["good"], told["direction"]) == ("2.91.0", "2.90.0", "introduced")
    assert [unit["qualname"] for unit in told["units"]] == ["clamp"]


def test_a_script_that_is_no_case(project: Project) -> None:
    """It runs as `python FILE` does: with the modules beside it, and it may leave with status 0."""
    script = project.folder / "mine.py"
    (project.folder / "beside.py").write_text("DEVICE = 'cpu'\n")
    script.write_text(f"import beside\n{CHECK}\n\ntest_row(beside.DEVICE, 'inductor')\nraise SystemExit(0)\n")
    status, stderr, answer = isolate(project, "mine.py", "--from", "2.90.0", "--to", "2.91.0")
    assert status == 0, stderr
    (told,) = answer["isolations"]
    assert (told["case"], told["evidence"], told["units"][0]["qualname"]) == ("mine", "proved", "clamp")
    assert not (project.folder / "results" / "fixes").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["row"], "names no two releases"),
        (["row", "--from", "2.91.0", "--to", "2.91.0"], "the first must be the older one"),
        (["row", "--from", "2.90.0"], "go together"),
        (["row", "--from", "2.89.0", "--to", "2.90.0"], r"does not pass with torch 2.90.0"),
        (["row", "--from", "2.10.0", "--to", "2.90.0"], "2.10.0"),
        (["absent"], "no case 'absent'"),
    ],
)
def test_questions_that_cannot_be_asked(project: Project, arguments: list[str], message: str) -> None:
    status, stderr, answer = isolate(project, *arguments)
    assert (status, message in stderr.splitlines()[-1]) == (2, True), stderr
    assert not answer or not answer["isolations"]
    assert not (project.folder / "results" / "fixes").exists()


def test_a_hotfix_of_what_is_not_proved(project: Project) -> None:
    done = project.run("hotfix", "row", "--torch", "2.90.0", "--index", project.index)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no proved fix" in done.stderr
