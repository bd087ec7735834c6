"""A matrix over real environments, made by real uv from wheels of a fake torch on a local index."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_torch import build_wheels, serve_index
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.corpus import load_cases
from pt2bugs.engine.client import Engine
from pt2bugs.envs.environment import Key
from pt2bugs.envs.sources import Sources
from pt2bugs.envs.store import Store
from pt2bugs.results.journal import read_journal
from pt2bugs.results.matrix import Results
from pt2bugs.results.record import Record
from pt2bugs.results.writer import LARGE_JOURNALS
from pt2bugs.run.runner import Progress, Runner
from pt2bugs.run.schedule import CellQueue, RunOptions, Target, Work
from suite import case_text

RELEASES = {
    "2.5.0": {},
    "2.5.1": {"old": "wrong"},
    "2.6.0": {"old": "wrong", "ends": "abort"},
    # The canary's own function. A fork leaves the real torch without its pool of threads; a backward pass, that of a
    # canary too, then aborts now and then.
    "2.7.0": {"ends": "raise", "program": "threads"},
    # This release compiles nothing.
    "2.8.0": {"program": "raise"},
}
CHECK = """
import torch

def test_{name}(backend):
    def {name}(x):
        return x.sin()

    x = torch.arange(4)
    torch.testing.assert_close(torch.compile({name}, backend=backend)(x), {name}(x))
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("wheels")
    build_wheels(folder, RELEASES)
    with serve_index(folder, tmp_path_factory.mktemp("index")) as url:
        yield url


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments live; shared by the tests of this module, as a user's are by runs."""
    return tmp_path_factory.mktemp("home")


class Project:
    """A folder with a small corpus, and the command line run in it."""

    def __init__(self, folder: Path, home: Path, index: str) -> None:
        self.folder, self.index = folder, index
        # What pip is set up with on this machine must not take part.
        self.environ = {**os.environ, "PT2BUGS_HOME": str(home), "PIP_CONFIG_FILE": os.devnull}
        for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
            self.environ.pop(name, None)
        old = [{"torch": "<2.6.1", "outcome": "wrong", "error": "AssertionError", "match": "not close"}]
        ends = [
            {"torch": ">=2.6,<2.7", "outcome": "crash", "signal": "SIGABRT"},
            {"torch": ">=2.7", "outcome": "raise", "error": "torch._dynamo.exc.InternalTorchDynamoError"},
        ]
        self.case("old", bugs=old)
        self.case("ends", bugs=ends)

    def case(self, name: str, **settings: Any) -> Path:
        path = self.folder / "cases" / "dynamo" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(case_text(CHECK.format(name=name), **settings))
        return path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pt2bugs.cli", *arguments]

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    def matrix(self, *specs: str, **environ: str) -> subprocess.CompletedProcess[str]:
        words = [word for spec in specs for word in ("--torch", spec)]
        return self.run("run", *words, "--index", self.index, **environ)

    @property
    def lines(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / "results" / "journal").glob("*.jsonl"))
        return [dict(record) for record in read_journal(files, lambda _: None)]

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.folder / "results" / name).open(newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def project(tmp_path: Path, home: Path, index: str) -> Project:
    return Project(tmp_path, home, index)


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
    assert [(cell["case"], "torch" in cell) for cell in cells] == [("ends", False), ("old", False)]
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
    assert not list(tmp_path.glob("pt2bugs-cells-*")), "nothing stays"
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


class TestJobs:
    @pytest.fixture
    def cells(self, project: Project) -> list[Cell]:
        for number in range(6):
            project.case(f"more_{number}", backends=["inductor", "eager"] if number % 2 else ["eager"])
        project.case("endless", symptom="hang", backends=["eager"])
        cases = load_cases([project.folder / "cases"])
        return [cell for case in cases for cell in cells_of(case, (), ())]

    @pytest.fixture
    def store(self, project: Project, home: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setenv("PT2BUGS_HOME", str(home))
        monkeypatch.delenv("UV_CACHE_DIR", raising=False)
        return Store(Sources(index=project.index, find_links=()))

    def target(self, project: Project, torch: str) -> Target:
        return Target(Key(torch, f"{sys.version_info.major}.{sys.version_info.minor}", index=project.index))

    @pytest.mark.parametrize("jobs", [2, 5])
    def test_of_one_environment_share_its_cells(
        self, project: Project, store: Store, cells: list[Cell], jobs: int
    ) -> None:
        told: list[Record] = []
        results = Results(project.folder / "results")
        runner = Runner(results, store, RunOptions(jobs=jobs), Progress(advance=told.append))
        (work,) = runner.run([Work(self.target(project, "2.6.0"), cells)])
        assert work.failure == ""
        names = sorted((cell.case.id, cell.check.name, cell.backend) for cell in cells)
        assert sorted((line["case"], line["check"], line["backend"]) for line in project.lines) == names
        assert sorted((line["case"], line["check"], line["backend"]) for line in told) == names, "told once each"

    def test_help_with_the_last_environment(
        self, project: Project, store: Store, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With three environments and two jobs, the one that is free first takes cells of the last."""
        runner = Runner(Results(project.folder / "results"), store, RunOptions(jobs=2), Progress())
        for path in {cell.case.path for cell in cells}:
            path.write_text(
                path.read_text().replace("    x = torch", "    import time; time.sleep(0.5)\n    x = torch")
            )
        # One cell in the first two, so that the last is alone for long.
        work = [
            Work(self.target(project, torch), owed)
            for torch, owed in (("2.5.0", cells[:1]), ("2.5.1", cells[:1]), ("2.6.0", cells))
        ]
        opened: list[str] = []
        connect = Engine._connect

        def counted(engine: Engine) -> Any:
            opened.append(engine.settings.python.parent.parent.name.split("-")[1])
            return connect(engine)

        monkeypatch.setattr(Engine, "_connect", counted)
        runner.run(work)
        assert sorted(opened) == ["2.5.0", "2.5.1", "2.6.0", "2.6.0"], "and none is opened for nothing"
        assert len(project.lines) == len(cells) + 2

    def test_begin_apart(self, cells: list[Cell]) -> None:
        queue = CellQueue.of(cells)
        order = list(queue.cells)
        assert order[-1].case.id == "endless", "what may hang does so while others run"
        backends = [cell.backend for cell in order[:-1]]
        assert backends == sorted(backends)
        assert (queue.take(from_the_end=True), queue.take(from_the_end=False)) == (order[-1], order[0])

    def test_every_cell_is_taken_once(self, cells: list[Cell]) -> None:
        queue = CellQueue.of(cells)
        taken: list[tuple[str, ...]] = []
        while (cell := queue.take(from_the_end=len(taken) % 3 == 1)) is not None:
            taken.append(cell.key)
        assert sorted(taken) == sorted(cell.key for cell in cells)


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
    for words in ((), ("--results", "results")):
        refused = project.run(*asked, "default", *words)
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
