"""A matrix on a cluster of real worker processes, with environments made by real uv from wheels of a fake torch."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pt2bugs
import pytest
from fake_torch import build_wheels, serve_index
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.corpus import load_cases
from pt2bugs.cli import main
from pt2bugs.cluster.connection import ClusterError
from pt2bugs.cluster.driver import Cluster, ClusterRunner, open_cluster
from pt2bugs.cluster.task import InstallOptions
from pt2bugs.envs.environment import Key
from pt2bugs.envs.sources import Sources
from pt2bugs.envs.store import Store
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import Record, journal_files, read_journal
from pt2bugs.run.plan import RunOptions, Target, Work, expected_seconds, owed, plan
from pt2bugs.run.runner import Progress, Runner
from suite import case_text, parent_of, wait_until

pytest.importorskip("distributed")

RELEASES = {
    "2.5.0": {},
    "2.6.0": {"half": "wrong", "dead": "abort"},
    # The canary's own function: this release compiles nothing.
    "2.8.0": {"program": "raise"},
}
FRESH = ("2.3.0", "2.3.1", "2.4.0")
"""Releases without faults, of which no environment is made before one test wants that."""
CHECK = """
import time
import torch

def {name}(x):
    return x.sin()

def check(backend):
    x = torch.arange(4)
    time.sleep({seconds})
    torch.testing.assert_close(torch.compile({name}, backend=backend)(x), {name}(x))

def test_a(backend): check(backend)
def test_b(backend): check(backend)
"""
IDENTITY = ("case", "check", "device", "backend", "torch", "python", "outcome", "verdict", "error_type", "message")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = build_wheels(tmp_path_factory.mktemp("wheels"), {**RELEASES, **{release: {} for release in FRESH}})
    with serve_index(folder, tmp_path_factory.mktemp("index")) as url:
        yield url


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where this process and its workers have their environments."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PT2BUGS_HOME", str(folder))
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
            patch.delenv(name, raising=False)
        yield folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    """The address of a scheduler of somebody else, without TLS, that has two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", memory_limit=0, dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL + 1,
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def shared(address: str) -> Iterator[Cluster]:
    """A connection to it, for as long as this module's tests take."""
    told: list[str] = []
    with open_cluster(address, told.append) as cluster:
        assert "without TLS, so a program that reaches its port can run code on its workers" in told[0]
        cluster.roll_call(wait_s=60)
        yield cluster


class Project:
    """A folder with a small corpus, and its cells run on a cluster or here."""

    def __init__(self, folder: Path, index: str) -> None:
        self.folder, self.index = folder, index
        self.results = Results(folder / "results")
        self.told: list[str] = []

    def cells(self, *names: str, seconds: float = 0.0) -> list[Cell]:
        """The cells of cases with these names; a release has faults for some."""
        for name in names:
            bugs = [{"torch": "==2.6.0", "outcome": "wrong"}] if name == "half" else []
            path = self.folder / "cases" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(case_text(CHECK.format(name=name, seconds=seconds), bugs=bugs, backends=["eager"]))
        return [cell for case in load_cases([self.folder / "cases"]) for cell in cells_of(case)]

    def work(self, cells: list[Cell], *releases: str) -> list[Work]:
        return [Work(Target(Key(release, PYTHON, index=self.index)), list(cells)) for release in releases]

    def run(
        self, cluster: Cluster, work: list[Work], advance: Callable[[Record], None] = lambda _: None, repeat: int = 1
    ) -> list[Work]:
        progress = Progress(log=self.told.append, advance=advance)
        packages, options = InstallOptions(index=self.index), RunOptions(repeat=repeat)
        runner = ClusterRunner(
            lambda: cluster, packages, expected_seconds({}), self.results, options, progress, patience_s=100
        )
        return runner.run(work)

    def run_here(self, work: list[Work]) -> None:
        store = Store(Sources(index=self.index, companions=""))
        Runner(self.results, store, RunOptions(jobs=2), Progress()).run(work)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [{**record} for record in read_journal(journal_files(self.results.journal_folder), self.told.append)]

    def identities(self) -> list[list[Any]]:
        return sorted([line[key] for key in IDENTITY] for line in self.lines)

    def times(self) -> Counter[tuple[str, ...]]:
        """How often each cell has a line."""
        return Counter((line["torch"], line["case"], line["check"], line["backend"]) for line in self.lines)


@pytest.fixture
def project(tmp_path: Path, index: str) -> Project:
    return Project(tmp_path, index)


def test_lines_are_those_of_a_local_run(shared: Cluster, project: Project, tmp_path: Path, index: str) -> None:
    cells = project.cells("fine", "half", "dead")
    work = project.run(shared, project.work(cells, *RELEASES))
    (tmp_path / "here").mkdir()
    here = Project(tmp_path / "here", index)
    here.run_here(here.work(cells, *RELEASES))
    assert project.identities() == here.identities()
    assert set(project.times().values()) == {1}
    assert [part.failure for part in work] == ["", "", ""]
    names = {path.name for path in tmp_path.glob("results/journal/*")}
    assert names == {path.name for path in tmp_path.glob("here/results/journal/*")}
    hosts = {line["host"] for line in project.lines}
    assert len(hosts) == 1
    assert socket.gethostname() not in hosts.pop()
    assert "canary" in " ".join(line["message"] for line in project.lines if line["torch"] == "2.8.0")


def test_repeats_stay_together(shared: Cluster, project: Project) -> None:
    project.run(shared, project.work(project.cells("fine"), "2.5.0"), repeat=3)
    assert [(line["check"], line["repeat"], line["repeats"]) for line in sorted(project.lines, key=_by_check)] == [
        (check, repeat, 3) for check in ("test_a", "test_b") for repeat in (1, 2, 3)
    ]
    runs = [(line["check"], line["repeat"]) for line in project.lines]
    assert [repeat for _, repeat in runs] == [1, 2, 3, 1, 2, 3], "whole series, one after the other"


def _by_check(line: dict[str, Any]) -> tuple[str, int]:
    return line["check"], line["repeat"]


def test_an_environment_that_nobody_can_make(shared: Cluster, project: Project) -> None:
    cells = project.cells("fine")
    good, bad = project.run(shared, project.work(cells, "2.5.0", "9.9.9"))
    assert good.failure == ""
    assert "9.9.9" in bad.failure
    assert {line["torch"]: line["outcome"] for line in project.lines} == {"2.5.0": "pass", "9.9.9": "error"}
    assert set(project.times().values()) == {1}


def test_cells_of_a_lost_worker_go_elsewhere(shared: Cluster, project: Project) -> None:
    """What it had finished stays as it was; its place is taken by the other worker, then by its successor."""
    cells = project.cells("fine", "more", "yet_more", seconds=0.2)
    pids = list(shared.client.run(os.getpid).values())
    kept: list[Record] = []

    def advance(record: Record) -> None:
        kept.append(record)
        if len(kept) == 2:
            os.kill(pids[0], signal.SIGKILL)

    project.run(shared, project.work(cells, "2.5.0", "2.6.0"), advance)
    assert set(project.times().values()) == {1}
    assert len(project.lines) == 2 * len(cells)
    assert any("was lost" in told for told in project.told), project.told
    assert all({**line} in project.lines for line in kept)


def test_commands_take_a_cluster(
    address: str, project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its address and by its scheduler file; `bisect` runs there what `run` had left open."""
    project.cells("half")
    monkeypatch.chdir(project.folder)
    Path("scheduler.json").write_text(json.dumps({"address": address}))
    assert main(["run", "half", "--torch", "2.5.0", "--index", project.index, "--cluster", address]) == 0
    asked = ["bisect", "half", "--torch", ">=2.5,<2.7", "--index", project.index]
    assert main([*asked, "--cluster", "scheduler.json", "--json"]) == 0
    said = capsys.readouterr()
    assert "introduced" in said.out
    assert {line["torch"]: line["verdict"] for line in project.lines} == {"2.5.0": "pass", "2.6.0": "xfail"}
    assert all(line["host"] for line in project.lines)
    assert main(["run", "half", "--torch", "2.5.0", "--index", project.index, "--cluster", address, "--jobs", "2"]) == 2
    assert main(["run", "half", "--rerun", "--cluster", address]) == 2
    assert "name releases with --torch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("local:none", "takes a number of workers"),
        ("local:0", "takes a number of workers"),
        ("nowhere.json", "no scheduler file that is there"),
    ],
)
def test_a_cluster_that_is_none(where: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message), open_cluster(where, lambda _: None):
        pass


@contextlib.contextmanager
def shooting_at_new_workers(shots: int) -> Iterator[list[int]]:
    """Kill that many worker processes of this process as soon as each is there; gives their numbers."""

    def workers() -> set[int]:
        pids = set()
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"spawn_main" in (path / "cmdline").read_bytes() and parent_of(int(path.name)) == os.getpid():
                    pids.add(int(path.name))
        return pids

    hit: list[int] = []
    before = workers()
    is_over = threading.Event()

    def shoot() -> None:
        while len(hit) < shots and not is_over.wait(0.01):
            for pid in sorted(workers() - before - set(hit))[: shots - len(hit)]:
                os.kill(pid, signal.SIGKILL)
                hit.append(pid)

    thread = threading.Thread(target=shoot)
    thread.start()
    try:
        yield hit
    finally:
        is_over.set()
        thread.join()


def test_a_worker_that_is_lost_while_it_starts(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with shooting_at_new_workers(1) as hit, open_cluster("local:2", lambda _: None) as cluster:
        cluster.roll_call(wait_s=60)
        assert len(hit) == 1
        assert len(cluster.client.run(os.getpid)) == 2
    assert list(tmp_path.iterdir()) == []


def test_workers_that_never_start(home: Path) -> None:
    message = "the workers ended while they started, 3 times"
    with (
        shooting_at_new_workers(1000),
        pytest.raises(ClusterError, match=message),
        open_cluster("local:1", lambda _: None),
    ):
        pass


@contextlib.contextmanager
def dask(*arguments: str, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Dask's own command line."""
    with subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments], env={**os.environ, **environ},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def one_worker(where: list[str], name: str) -> list[str]:
    return ["worker", *where, "--name", name, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]


def test_workers_are_asked_for_the_pythons_that_are_wanted(shared: Cluster) -> None:
    shared.roll_call([PYTHON, "3.99"], 60)
    assert len(shared.workers) == 2
    for worker in shared.workers.values():
        assert {offer for offer in worker.offers if offer.startswith("python ")} == {f"python {PYTHON}"}


def test_workers_that_do_not_fit(shared: Cluster, address: str, project: Project, tmp_path: Path) -> None:
    """One has another pt2bugs, and takes no part; on one no environment can be made, and others take its cells."""
    cells = project.cells("fine")
    copy = tmp_path / "copy"
    package = Path(pt2bugs.__file__).parent
    shutil.copytree(package, copy / "pt2bugs", ignore=shutil.ignore_patterns("__pycache__", "_corpus"))
    (copy / "pt2bugs" / "errors.py").write_text((package / "errors.py").read_text() + "# changed\n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "envs").write_text("in the way of a folder")
    where = [address]
    home = {"PT2BUGS_HOME": str(tmp_path / "broken")}
    with dask(*one_worker(where, "old"), PYTHONPATH=str(copy)), dask(*one_worker(where, "broken"), **home):
        there = {"old", "broken"}
        wait_until(
            lambda: there <= {part["name"] for part in shared.client.scheduler_info()["workers"].values()},
            timeout_s=240,
        )
        # As many new releases as workers: each of them begins one.
        work = project.run(shared, project.work(cells, *FRESH))
        refused = list(shared.refused.values())
    assert [part.failure for part in work] == ["", "", ""]
    assert set(project.times().values()) == {1}
    assert {line["outcome"] for line in project.lines} == {"pass"}
    assert len(refused) == 1
    assert "install the same on both" in refused[0]
    assert any(told.startswith("worker broken") and "others take it" in told for told in project.told), project.told


def test_a_scheduler_that_goes(shared: Cluster, project: Project, tmp_path: Path) -> None:
    """What had come back is in the journal, and a run elsewhere goes on from there."""
    cells = project.cells("fine", "more", seconds=0.1)
    file = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    with dask("scheduler", *options) as scheduler:
        wait_until(lambda: file.exists() and file.stat().st_size, timeout_s=240)
        with (
            dask(*one_worker(["--scheduler-file", str(file)], "one")),
            pytest.raises(ClusterError, match="the scheduler is gone; what had come back is in the journal"),
            open_cluster(str(file), project.told.append) as cluster,
        ):
            project.run(cluster, project.work(cells, "2.5.0"), lambda _: scheduler.kill())
    before = project.lines
    assert 1 <= len(before) < len(cells)
    newest = project.results.load([cell.case for cell in cells], project.told.append)
    targets = [part.target for part in project.work(cells, "2.5.0")]
    project.run(shared, owed(plan(cells, targets), newest.lines()))
    assert project.lines[: len(before)] == before
    assert set(project.times().values()) == {1}
    assert len(project.lines) == len(cells)


def test_ctrl_c(project: Project, home: Path) -> None:
    """The command ends its cluster, which was on the loopback interface alone; the same command goes on."""
    import psutil  # type: ignore[import-untyped]

    cells = project.cells("fine", "more", seconds=0.4)
    command = [sys.executable, "-m", "pt2bugs", "run", "--torch", "2.5.0", "--index", project.index]
    process = subprocess.Popen(
        [*command, "--cluster", "local:1"],
        cwd=project.folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    lines: list[str] = []

    def read() -> None:
        assert process.stderr is not None
        with process.stderr:
            lines.extend(process.stderr)

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: project.lines, timeout_s=240)
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    connections = []
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):  # a cell that has ended meanwhile
            connections += member.net_connections("inet")
    assert {connection.laddr.ip for connection in connections if connection.status == "LISTEN"} == {"127.0.0.1"}
    # As a terminal does it: everybody in the foreground hears it.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    reader.join()
    assert "the same command goes on from there" in "".join(lines)
    assert "Traceback" not in "".join(lines), "".join(lines)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive
    before = project.lines
    assert 1 <= len(before) < 4
    newest = project.results.load([cell.case for cell in cells], project.told.append)
    assert len(newest.lines()) == len(before)


def test_who_has_no_certificate_is_refused(home: Path, tmp_path: Path) -> None:
    """No listener of `local:N` lets in a client that has no credentials, or others; nor does one speak HTTP."""
    from distributed.security import Security

    before = _listeners()
    with open_cluster("local:1", lambda _: None) as cluster:
        cluster.roll_call(wait_s=60)
        assert cluster.client.scheduler.address.startswith("tls://127.0.0.1:")
        there = _listeners() - before
        secured = {int(address.rpartition(":")[2]) for address in (cluster.client.scheduler.address, *cluster.workers)}
        assert secured <= {port for _, port in there}
        assert {host for host, _ in there} == {"127.0.0.1"}
        other = Security.temporary().get_connection_args("client")["ssl_context"]
        none = ssl.create_default_context()
        for context in (other, none):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for _, port in sorted(there):
            assert [_serves(port, context) for context in (None, none, other)] == [False] * 3
            assert _http_status(port) in (0, 404)
        ours = cluster.client.security.get_connection_args("client")["ssl_context"]
        assert secured <= {port for _, port in there if _serves(port, ours)}
        if os.getuid() == 0:
            ports = [str(port) for _, port in there]
            done = subprocess.run(
                [sys.executable, "-c", _AS_NOBODY, *ports], capture_output=True, text=True, check=True
            )
            assert done.stdout.split() == ["refused"] * len(ports)
        assert cluster.client.submit(len, "abc").result(30) == 3, "whom it was started by is served as ever"


def _listeners() -> set[tuple[str, int]]:
    """The addresses on which this process and its children listen."""
    import psutil

    this = psutil.Process()
    listeners: set[tuple[str, int]] = set()
    for member in [this, *this.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            open_ = member.net_connections("inet")
            listeners |= {(socket_.laddr.ip, socket_.laddr.port) for socket_ in open_ if socket_.status == "LISTEN"}
    return listeners


def _http_status(port: int) -> int:
    """What a server answers to a request by HTTP; 0 if it does not speak it."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
        answer = connection.recv(100).split()
        if len(answer) > 1 and answer[0].startswith(b"HTTP"):
            return int(answer[1])
    return 0


def _serves(port: int, context: ssl.SSLContext | None) -> bool:
    """Whether a server begins to talk; one of Dask does so at once. Without a context, in clear."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as plain:
        plain.settimeout(2)
        connection = context.wrap_socket(plain) if context else plain
        return connection.recv(1) != b""
    return False


_AS_NOBODY = """
import os, socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
"imported before, since nobody may read this Python's library".encode("idna")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for port in sys.argv[1:]:
    try:
        with context.wrap_socket(socket.create_connection(("127.0.0.1", int(port)), 2)) as connection:
            print("served" if connection.recv(1) else "refused")
    except OSError:
        print("refused")
"""
"""Another user, who knows the addresses alone."""


@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.5, 2.5])
def test_ctrl_c_while_workers_start(project: Project, home: Path, seconds: float) -> None:
    """One line, and nobody is left, whenever it comes."""
    import psutil

    project.cells("fine")
    command = [sys.executable, "-m", "pt2bugs", "run", "--torch", "2.5.0", "--index", project.index]
    process = subprocess.Popen(
        [*command, "--cluster", "local:4"],
        cwd=project.folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    # The line that is said before the cluster is connected to.
    first = process.stderr.readline()
    while "to run" not in first:
        first = process.stderr.readline()
    threading.Event().wait(seconds)
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    os.killpg(process.pid, signal.SIGINT)
    with process.stderr:
        lines = process.stderr.read().splitlines()
    assert process.wait(60) == 130, lines
    assert [line for line in lines if "stopped" in line] == lines[-1:]
    assert not [line for line in lines if "Traceback" in line or "Error" in line], lines
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive
