"""A matrix over real environments, made by real uv from wheels of a fake torch on a local index."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fake_torch import build_wheels, serve_index
from matrix_project import CHECK, Project
from pt2bugs.results.journal import LARGE_JOURNALS, read_journal
from pt2bugs.run.runner import progress_of_cells
from suite import case_text


def test_a_matrix(project: Project) -> None:
    done = project.matrix("minors")
    assert done.returncode == 1, done.stderr
    rows = {row["case"]: row for row in project.table("matrix.csv")}
    assert list(rows["old"])[7:] == ["2.5.1", "2.6.0", "2.7.0", "2.8.0"]
    assert [rows["old"][v] for v in ("2.5.1", "2.6.0", "2.7.0", "2.8.0")] == ["xfail:wrong"] * 2 + ["pass", "error"]
    assert [rows["ends"][v] for v in ("2.5.1", "2.6.0", "2.7.0", "2.8.0")] == [
        "pass", "xfail:crash", "xfail:raise", "error",
    ]  # fmt: skip
    assert "canary on cpu with inductor: InternalTorchDynamoError" in done.stdout, "the canary's words"
    assert {line["torch"] for line in project.lines} == {"2.5.1", "2.6.0", "2.7.0", "2.8.0"}
    crash = next(line for line in project.lines if line["signal"])
    assert (crash["case"], crash["torch"], crash["signal"]) == ("ends", "2.6.0", "SIGABRT")

    again = project.matrix("minors")
    assert "6 answered by the journal, 2 to run" in again.stderr, "errors of an environment are tried again"
    exported = project.run("export", "--format", "csv").stdout
    assert exported == (project.folder / "results" / "matrix.csv").read_text()


def test_only_what_changed_is_run_again(project: Project) -> None:
    assert project.matrix("2.5.1").returncode == 0
    before = project.lines
    path = project.case("old", bugs=[{"torch": "<2.5", "outcome": "wrong"}])
    done = project.matrix("2.5.1")
    assert "2 answered by the journal, 0 to run" in done.stderr, "an expectation is not part of the run"
    assert done.returncode == 1
    assert [row["verdict"] for row in project.table("cells.csv")] == ["pass", "fail"]
    path.write_text(path.read_text() + "\nUNUSED = 1\n")
    assert "1 answered by the journal, 1 to run" in project.matrix("2.5.1").stderr
    assert [line["case"] for line in project.lines[len(before) :]] == ["old"]


def test_large_results_have_the_facts_of_a_run_once(project: Project) -> None:
    other = project.folder / "results" / "backends" / "ours" / "journal" / "one.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes(b" " * LARGE_JOURNALS + b"\n")
    assert project.matrix("2.5.1").returncode == 0
    (journal,) = (project.folder / "results" / "journal").glob("*.jsonl")
    run, *cells = map(json.loads, journal.read_text().splitlines())
    assert (run["kind"], run["torch"]) == ("run", "2.5.1")
    # Two jobs run the two cells: either may be the first to end.
    assert sorted((cell["case"], "torch" in cell) for cell in cells) == [("ends", False), ("old", False)]
    assert "2 answered by the journal, 0 to run" in project.matrix("2.5.1").stderr


def test_specifiers_select_installed_releases(project: Project) -> None:
    assert project.matrix(">=2.5,<2.7").returncode == 1
    assert list(project.table("matrix.csv")[0])[7:] == ["2.5.0", "2.5.1", "2.6.0"]
    rows = {row["case"]: row for row in project.table("matrix.csv")}
    assert rows["old"]["2.5.0"] == "xpass", "documented below 2.6.1, but this one has no such fault"


def test_an_environment_that_imports_another_torch_is_refused(project: Project, home: Path) -> None:
    assert project.matrix("2.5.1").returncode == 0
    (site,) = (home / "envs").glob("torch-2.5.1-*/lib/python*/site-packages/torch/version.py")
    original = site.read_text()
    site.unlink()
    site.write_text(original.replace("2.5.1", "2.4.0"))
    project.case("third")
    try:
        done = project.matrix("2.5.1")
    finally:
        site.unlink()
        site.write_text(original)
    assert done.returncode == 1
    assert "asked for torch 2.5.1, but this environment imports torch 2.4.0; nothing was run" in done.stderr
    assert not [line for line in project.lines if line["torch"] == "2.4.0"]


def test_a_torch_that_does_not_import_is_an_error_of_the_environment(project: Project, home: Path) -> None:
    assert project.matrix("2.5.1").returncode == 0
    (site,) = (home / "envs").glob("torch-2.5.1-*/lib/python*/site-packages/torch/version.py")
    original = site.read_text()
    site.unlink()
    site.write_text("raise ImportError('libtorch_cpu.so: cannot open shared object file')\n")
    project.case("third")
    try:
        done = project.matrix("2.5.1")
    finally:
        site.unlink()
        site.write_text(original)
    assert done.returncode == 1
    (line,) = (line for line in project.lines if line["case"] == "third")
    assert line["verdict"] == "error"
    assert "libtorch_cpu.so: cannot open shared object file" in line["message"]


def test_an_environment_that_cannot_be_made(project: Project) -> None:
    """The index lists the release, but its wheel is gone."""
    root = Path(project.folder / "index")
    wheels = build_wheels(project.folder / "wheels", {"2.9.0": {}})
    with serve_index(wheels, root) as url:
        (root / "simple" / "torch" / "torch-2.9.0-py3-none-any.whl").unlink()
        (root / "simple" / "torch" / "torch-2.9.0-py3-none-any.whl").write_bytes(b"not a wheel")
        done = project.run("run", "--torch", "2.9.0", "--index", url)
    assert done.returncode == 1
    assert {line["verdict"] for line in project.lines} == {"error"}
    assert all(line["message"].startswith("the environment cannot be made: ") for line in project.lines)
    assert not any(project.environ["PT2BUGS_HOME"] in line["message"] for line in project.lines)
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="needs a file system of its own")
def test_a_full_disk_while_installing(project: Project, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], check=False)
    if mounted.returncode != 0:
        pytest.skip("cannot mount a file system here")
    try:
        done = project.matrix("2.5.1", PT2BUGS_HOME=str(small))
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
    assert done.returncode == 1
    assert "the disk is full" in done.stderr
    assert not list(small.glob("envs/torch-*/pt2bugs.json")), "nothing half-made stays behind"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_run_that_is_stopped_goes_on(project: Project, tmp_path: Path, number: signal.Signals) -> None:
    slow = project.case("slow")
    slow.write_text(slow.read_text().replace("    x = torch", "    import time; time.sleep(20)\n    x = torch"))
    process = subprocess.Popen(
        project.command("run", "--torch", "2.5.1", "--jobs", "1", "--index", project.index),
        cwd=project.folder, env={**project.environ, "TMPDIR": str(tmp_path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(project.lines) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert not list(tmp_path.glob("pt2bugs-run-*")), "nothing stays"
    assert "the same command goes on from there" in stderr
    assert "Traceback" not in stderr
    assert [line["case"] for line in project.lines] == ["ends", "old"]
    slow.write_text(slow.read_text().replace("time.sleep(20)", "time.sleep(0)"))
    assert "2 answered by the journal, 1 to run" in project.matrix("2.5.1").stderr


def test_the_current_torch(project: Project) -> None:
    """Without --torch the cells run on the torch of the running interpreter; here that is the real one."""
    case = project.case("real", backends=["eager"])
    done = project.run("run", case.stem, "--backend", "eager")
    assert done.returncode == 0, done.stderr
    (line,) = project.lines
    assert line["torch"].startswith("2.")
    assert line["graphs"] == 1
    assert len(line["torch_git"]) == 40


def test_an_environment_whose_python_is_gone_is_made_again(project: Project, home: Path) -> None:
    assert project.matrix("2.5.0").returncode == 1
    (python,) = (home / "envs").glob("torch-2.5.0-*/bin/python")
    python.unlink()
    python.symlink_to(project.folder / "uninstalled" / "python")
    project.case("third")
    done = project.matrix("2.5.0")
    assert "installing torch 2.5.0" in done.stderr
    assert [line["verdict"] for line in project.lines if line["case"] == "third"] == ["pass"]


def test_an_interpreter_that_exists(project: Project, home: Path) -> None:
    """It needs nothing but torch; its lines say which build it is, and go where they were told to."""
    assert project.matrix("2.5.1").returncode == 0
    (python,) = (home / "envs").glob("torch-2.5.1-*/bin/python")
    refused = project.run("run", "--python-exe", str(python))
    assert refused.returncode == 2
    assert "name a folder for its results, with --results" in refused.stderr
    done = project.run("run", "--python-exe", str(python), "--results", "mine")
    assert done.returncode == 0, done.stderr
    lines = list(read_journal(project.folder.glob("mine/journal/*"), lambda _: None))
    assert {line["torch"] for line in lines} == {"2.5.1"}
    assert all(line["build"].startswith("2.5.1@") for line in lines)
    again = project.run("run", "--python-exe", str(python), "--results", "mine")
    assert "2 answered by the journal, 0 to run" in again.stderr
    nothing = project.run("run", "--python-exe", "/bin/false", "--results", "mine")
    assert nothing.returncode == 2
    assert "--python-exe /bin/false: left with status 1" in nothing.stderr


def test_a_limited_cpu(project: Project) -> None:
    """Its lines stand for no release: they need a folder of their own, and say what they are."""
    body = (
        CHECK.format(name="plain").replace("import torch\n", "import os, torch\n", 1)
        + "    assert os.environ.get('ATEN_CPU_CAPABILITY') != 'default', 'no vectors'\n"
    )
    for name, bugs in (("plain", []), ("known", [{"outcome": "crash", "signal": "SIGFPE", "platform": "fake"}])):
        path = project.case(name, bugs=bugs)
        path.write_text(case_text(body, bugs=bugs))
    asked = ("run", "--index", project.index, "--torch", "2.5.1", "--threads", "2", "--capability")
    for arguments in ((), ("--results", "results")):
        refused = project.run(*asked, "default", *arguments)
        assert refused.returncode == 2
        assert "--capability default: does not stand for a release; name a folder of its own" in refused.stderr
    project.matrix("2.5.1", ATEN_CPU_CAPABILITY="default")
    assert {line["cpu_capability"] for line in project.lines} == {"FAKE"}
    project.run(*asked, "default", "--results", "limited")
    lines = list(read_journal(project.folder.glob("limited/journal/*"), lambda _: None))
    assert {(line["cpu_capability"], line["build"]) for line in lines} == {
        ("DEFAULT", "2.5.1 capability=default threads=2")
    }
    again = project.run(*asked, "default", "--results", "limited")
    assert "4 answered by the journal, 0 to run" in again.stderr
    other = project.run(*asked, "avx512", "--results", "other")
    assert other.returncode == 1
    assert "asked for the CPU capability avx512, but torch 2.5.1 says avx2; nothing was run" in other.stderr
    differ = project.run("diff", "results", "limited")
    assert differ.returncode == 1
    assert "torch 2.5.1 plain::test_plain[cpu-inductor]: verdict pass -> fail" in differ.stdout
    assert "verdict xpass -> skip  (the bug shows only on fake)" in differ.stdout
    assert "2 of 4 verdicts are equal, 2 differ (1 as the header says), 0 are in one folder only" in differ.stderr


def test_a_pipe_gets_a_line_of_progress_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pt2bugs.run.runner.LINE_EVERY_S", 0.05)
    record: Any = {}
    with progress_of_cells() as progress:
        progress.more(1)
        progress.more(2)
        progress.advance(record)
        time.sleep(0.5)
    assert "1 of 3 cells\n" in capsys.readouterr().err
