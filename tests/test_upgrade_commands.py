"""`pt2bugs upgrade` and `pt2bugs exposure` over real environments, made by real uv from wheels of two fake torches."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fake_torch import build_wheels, serve_index
from matrix_project import Project
from suite import case_text
from test_isolate_isolation import CHECK, OLD, new
from test_upgrade_exposure import CLAMP, PROGRAM, isolation

BUG = {"torch": "<2.91", "outcome": "wrong", "error": "AssertionError", "match": "row -3 gives loaded"}
BREAKS = """
import torch


def mine(x):
    return x * 2


result = torch.compile(mine)(torch.arange(3))
assert result.values == [0, 2, 4], f"wrong: {result.values}"
print("done")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("project")
    files = {"2.90.0": {"lowering.py": OLD}, "2.91.0": {"lowering.py": new(CLAMP)}}
    wheels = build_wheels(folder / "wheels", {"2.90.0": {}, "2.91.0": {"mine": "wrong"}}, files)
    with serve_index(wheels, folder / "index") as index:
        project = Project(folder, folder / "home", index)
        (folder / "cases" / "dynamo" / "row.py").write_text(case_text(CHECK, bugs=[BUG]))
        fixes = folder / "results" / "fixes" / "row.json"
        fixes.parent.mkdir(parents=True)
        fixes.write_text(json.dumps({"schema": 1, "isolations": [isolation("row", "clamp")]}))
        (folder / "rows.py").write_text(PROGRAM)
        (folder / "breaks.py").write_text(BREAKS)
        yield project


def run(project: Project, *arguments: str) -> tuple[int, str, str]:
    done = project.run(*arguments, "--index", project.index)
    return done.returncode, done.stdout, done.stderr


def test_exposure(project: Project) -> None:
    status, stdout, stderr = run(project, "exposure", "rows.py", "--torch", "2.90.0", "--json")
    assert status == 1, stderr
    answer = json.loads(stdout)
    assert (answer["torch"], [(bug["case"], bug["level"]) for bug in answer["bugs"]]) == ("2.90.0", [("row", "bites")])
    status, stdout, stderr = run(project, "exposure", "rows.py", "--torch", "2.91.0")
    assert (status, "bites" in stdout) == (0, False), stderr
    assert "No match is not proof" in stdout
    status, _, stderr = run(project, "exposure", "absent.py", "--torch", "2.90.0")
    assert (status, stderr) == (2, "pt2bugs: absent.py: there is no such file\n")


def test_a_move_that_breaks(project: Project) -> None:
    move = ("upgrade", "breaks.py", "--from", "2.90.0", "--to", "2.91.0")
    status, stdout, stderr = run(project, *move, "-o", "out", "--json")
    assert status == 1, stderr
    told = json.loads(stdout)
    assert (told["from"], told["to"]) == ("2.90.0", ["2.91.0"])
    assert [run["outcome"] for run in told["runs"]] == ["pass", "wrong"]
    assert [(entry["case"], entry["where"]) for entry in told["breaks_for_you"]] == [(None, "line 10")]
    assert json.loads((project.folder / "out" / "upgrade.json").read_text()) == told
    for name in ("upgrade.md", "index.html"):
        assert "fails on torch 2.91.0" in (project.folder / "out" / name).read_text()


def test_what_a_move_fixes(project: Project) -> None:
    status, stdout, stderr = run(project, "upgrade", "rows.py", "--from", "2.90.0", "--to", "2.91.0")
    assert status == 0, stderr
    assert "Fixed for you: 1\n  prints another text than eager (row -3: loaded)" in stdout
    assert stdout.index("Breaks for you: nothing") < stdout.index("Fixed for you")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--from 2.91.0 --to 2.90.0", "each must be newer"),
        ("--from 2.90.0", "name the releases with --from and --to"),
        ("--from 2.90.0 --to 9.9", "9.9"),
        ("--from 2.90.0 --to 2.91.0 --with absent-package", "torch 2.90.0: nothing could be run there"),
    ],
)
def test_moves_that_cannot_be_asked(project: Project, arguments: str, message: str) -> None:
    status, stdout, stderr = run(project, "upgrade", "rows.py", *arguments.split())
    assert (status, stdout, message in stderr.splitlines()[-1]) == (2, "", True), stderr
