"""`pytest --pt2bugs-upgrade A B`: a suite on two releases, in environments that uv makes, and on the real torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_torch import build_wheels, serve_index, write_pytest
from matrix_project import Project
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.upgrade.recorded import Recorded
from pt2bugs.upgrade.suite import SuiteRuns, compare_suites, lines

SUITE = """
import pathlib

import pytest
import torch


def doubled(x):
    return x * 2


def refused(x):
    return x * 2


def mended(x):
    return x * 2


def fatal(x):
    return x * 2


def compiled(function, size):
    return torch.compile(function)(torch.arange(size)).values


@pytest.mark.parametrize("added", [2, 3])
def test_doubled(added):
    assert [added + value for value in compiled(doubled, 2)] == [added, added + 2]


def test_refused():
    compiled(refused, 2)


class TestFatal:
    def test_fatal(self):
        compiled(fatal, 2)

    def test_after_it(self):
        compiled(mended, 2)


def test_now_and_then():
    runs = pathlib.Path("runs")
    runs.write_text(runs.read_text() + "." if runs.exists() else ".")
    assert len(runs.read_text()) != 2


def test_of_its_own():
    raise ValueError("on both")


@pytest.mark.xfail
def test_expected():
    raise ValueError


def test_skipped():
    pytest.skip("not here")
"""
REAL = """
import torch


def test_compiled():
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2)).sum() == 4
"""
OLD_NAME = "from torch import only_there\n\n\ndef test_only_there():\n    pass\n"
RELEASES = {"2.90.0": {"mended": "raise"}, "2.91.0": {"doubled": "wrong", "refused": "raise", "fatal": "abort"}}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("project")
    wheels = build_wheels(folder / "wheels", RELEASES, {"2.90.0": {"only_there.py": ""}})
    write_pytest(wheels)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_mine.py").write_text(SUITE)
    (folder / "tests" / "test_names.py").write_text(OLD_NAME)
    with serve_index(wheels, folder / "index") as index:
        yield Project(folder, folder / "home", index)


def move(project: Project, *arguments: str, before: str = "2.90.0", after: str = "2.91.0") -> tuple[int, str, str]:
    (project.folder / "runs").unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pt2bugs-upgrade", before, after]
    # uv's own variable, as a user sets it up: the plugin has no option for the index.
    environ = {**project.environ, "UV_DEFAULT_INDEX": project.index}
    done = subprocess.run(
        [*command, *arguments], cwd=project.folder, env=environ, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_tests_that_a_move_changes_by_failure(project: Project) -> None:
    status, stdout, stderr = move(project, "tests")
    assert status == 1, stderr
    told = stdout.splitlines()
    assert told[0] == "torch 2.90.0 -> 2.91.0: 9 tests on both"
    start = told.index("Breaks for you: 5 tests")
    broken = told[start + 1 : told.index("Fixed for you: 1 test")]
    assert broken[0].startswith("  2 tests: fails on torch 2.91.0: wrong AssertionError")
    assert broken[1:3] == ["    tests/test_mine.py::test_doubled[2]", "    tests/test_mine.py::test_doubled[3]"]
    groups = {line.strip() for line in broken}
    assert (
        "1 test: fails on torch 2.91.0: raise torch._dynamo.exc.InternalTorchDynamoError: cannot compile refused"
        in groups
    )
    assert any("crash SIGABRT" in line for line in groups)
    assert any("cannot import name 'only_there'" in line for line in groups), "a file that cannot be collected"
    fixed = told.index("Fixed for you: 1 test")
    assert told[fixed + 2] == "    tests/test_mine.py::TestFatal::test_after_it", (
        "it ran, although the one before crashed"
    )
    unsure = told[told.index("Not known: 2 tests") :]
    assert any("ends otherwise from run to run" in line for line in unsure)
    assert any("fails on both alike" in line and "ValueError: on both" in line for line in unsure)
    assert "MESSAGE" in stdout
    assert "TYPE" in stdout
    assert not list(project.folder.rglob(".pytest_cache"))


def test_a_move_that_breaks_nothing(project: Project) -> None:
    status, stdout, stderr = move(
        project, "tests", "-k", "after_it or expected or skipped", "--ignore=tests/test_names.py"
    )
    assert (status, stdout.splitlines()[1:3]) == (0, ["Breaks for you: nothing", "Fixed for you: 1 test"]), stderr


@pytest.mark.parametrize(
    ("arguments", "releases", "status", "message"),
    [
        (["--absent-option", "tests"], (), 4, "unrecognized arguments: --absent-option"),
        (["tests", "-k", "nothing_is_called_so", "--ignore=tests/test_names.py"], (), 5, "no test was collected"),
        (["tests", "--pt2bugs-with", "absent-package"], (), 2, "torch 2.90.0: nothing could be run there"),
        (["tests", "-n", "2"], (), 2, "unrecognized arguments: -n"),
        (["tests"], ("2.90.0", "9.9"), 2, "9.9"),
        (["tests"], ("absent/bin/python", "2.91.0"), 2, "absent/bin/python: cannot be started"),
    ],
)
def test_nothing_that_could_be_run(
    project: Project, arguments: list[str], releases: tuple[str, ...], status: int, message: str
) -> None:
    named = dict(zip(("before", "after"), releases, strict=False))
    got, stdout, stderr = move(project, *arguments, **named)
    assert (got, stdout) == (status, ""), stderr
    assert message in stderr


def test_on_the_installed_torch(tmp_path: Path) -> None:
    """Both sides are the running interpreter: nothing changes, and real graphs are counted."""
    (tmp_path / "test_real.py").write_text(REAL)
    command = [sys.executable, "-m", "pytest", "--pt2bugs-upgrade", sys.executable, sys.executable, "test_real.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 test on both" in done.stdout
    assert "Changes for you: nothing" in done.stdout


def ran(outcome: Outcome = Outcome.PASS, message: str = "", **counts: Any) -> list[Recorded]:
    error = "RuntimeError" if outcome is Outcome.RAISE else ""
    return [Recorded(Observation(outcome, error, message, **{"graphs": 1, "breaks": 0, **counts}), text=message)] * 2


def test_known_bugs_and_breaks_of_graphs() -> None:
    before = SuiteRuns("2.90.0", {f"t.py::test_{name}": ran() for name in "abc"} | {"t.py::test_gone": ran()})
    known = ran(Outcome.RAISE, "known: shape 3")
    after = SuiteRuns(
        "2.91.0",
        {"t.py::test_a": known, "t.py::test_b": ran(Outcome.RAISE, "known: shape 4"), "t.py::test_c": ran(breaks=2)},
        notes=["stopped when its time was up"],
    )
    answer = compare_suites(before, after, lambda text, _: ("pytorch_1", "wait") if "known" in text else (None, ""))
    assert list(lines(answer))[:10] == [
        "torch 2.90.0 -> 2.91.0: 3 tests on both",
        "Breaks for you: 2 tests",
        "  2 tests: fails on torch 2.91.0: raise RuntimeError: known: shape 3 [pytorch_1] (wait)",
        "    t.py::test_a",
        "    t.py::test_b",
        "Fixed for you: nothing",
        "Changes for you: 1 test",
        "  1 test: 2 graph breaks (before: 0)",
        "    t.py::test_c",
        "Not known: 1 test",
    ]
    assert "  torch 2.91.0: stopped when its time was up" in lines(answer)
    assert "  1 test: ran on torch 2.90.0 alone" in lines(answer)


def test_what_ran_once_is_no_change() -> None:
    before = SuiteRuns("2.90.0", {"t.py::test_a": ran(), "t.py::test_b": ran()[:1]})
    after = SuiteRuns("2.91.0", {"t.py::test_a": ran(Outcome.RAISE, "broken")[:1], "t.py::test_b": ran()[:1]})
    groups = compare_suites(before, after, lambda *_: (None, "")).groups
    assert not groups["breaks_for_you"]
    ((entry, tests),) = [(str(group.entry), group.tests) for group in groups["not_known"]]
    assert (entry, tests) == ("changed, and time was up before it ran a second time", ["t.py::test_a"])
