"""The engine as its users see it: it starts, loses processes, starts again, and leaks nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fake_torch import write_torch
from pt2bugs.engine.client import MAX_KILLS, Engine, EngineError, EngineSettings, Worker
from pt2bugs.engine.linux import NO_NAMESPACE_VARIABLE
from pt2bugs.engine.protocol import Limits, ReportPipe, StopReason
from pt2bugs.engine.supervisor import GRACE
from suite import children, wait_until

MODES = {"namespace": {}, "fallback": {NO_NAMESPACE_VARIABLE: "1"}}
LIMITS = Limits(timeout_s=5, memory_mib=None)


def descriptors(pid: int | str) -> set[str]:
    return {path.name for path in Path(f"/proc/{pid}/fd").iterdir()}


def guardians() -> list[int]:
    """Those of this process, which other tests may have left other children."""
    return [pid for pid in children(os.getpid()) if b"\0guardian\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]


class Bench:
    """An engine on a fake torch, in a temporary folder of its own, and checks to run in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, mode: dict[str, str]) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        for name, value in {**mode, "PYTHONPATH": str(folder / "torch"), "PT2BUGS_HOME": str(folder / "home")}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("tempfile.tempdir", str(self.temporary))
        write_torch(folder / "torch")
        self.engines: list[Engine] = []

    def at_import(self, program: str) -> None:
        """Have the fake torch run this when it is imported."""
        with (self.folder / "torch" / "torch" / "__init__.py").open("a") as file:
            file.write(program)

    def engine(self, **grace: float) -> Engine:
        engine = Engine(EngineSettings(grace={**GRACE, **grace}))
        self.engines.append(engine)
        return engine

    def request(self, body: str = "pass", **settings: Any) -> dict[str, Any]:
        path = self.folder / "program.py"
        path.write_text(f"import os, signal, sys, time\ndef test_it():\n    {body}\n")
        return {
            "kind": "check",
            "path": str(path),
            "check": "test_it",
            "arguments": {},
            "device": "cpu",
            "threads": 1,
            "timeout_s": LIMITS.timeout_s,
            "compiles": False,
            **settings,
        }

    def outcome(self, worker: Worker, body: str = "pass", **settings: Any) -> str:
        report = worker.run(self.request(body, **settings), LIMITS).frames["report"]
        return str(report["observation"]["outcome"])

    def tree(self) -> tuple[int, int, list[int]]:
        """The guardian, the zygote and the supervisors."""
        (guardian,) = guardians()
        (below,) = children(guardian)
        # In a namespace process 1 stands between the two.
        zygote = below if NO_NAMESPACE_VARIABLE in os.environ else children(below)[0]
        return guardian, zygote, children(zygote)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> dict[str, str]:
    return MODES[request.param]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: dict[str, str]) -> Iterator[Bench]:
    found = Bench(tmp_path, monkeypatch, mode)
    yield found
    for engine in found.engines:
        engine.close()


def test_only_its_owner_speaks_on_a_report_pipe() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    pipe = ReportPipe(writer, "nonce")
    pipe.start()
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    pipe.own()
    pipe.start()
    assert os.read(reader, 99) == b"nonce started {}\n"
    os.close(reader)
    os.close(writer)


def test_leaks_nothing(bench: Bench) -> None:
    before = descriptors("self")
    engine = bench.engine()
    worker = engine.open()
    bench.outcome(worker)
    _, zygote, (supervisor,) = bench.tree()
    # The supervisor sees to the folder of a cell, which takes descriptors, after it has answered.
    time.sleep(0.2)
    below_before, zygote_before = descriptors(supervisor), descriptors(zygote)
    for _ in range(30):
        assert bench.outcome(worker) == "pass"
    wait_until(lambda: descriptors(supervisor) == below_before)
    assert descriptors(zygote) == zygote_before
    wait_until(lambda: children(supervisor) == [])
    worker.close()
    wait_until(lambda: children(zygote) == [])
    engine.close()
    assert descriptors("self") == before
    assert guardians() == []
    assert list(bench.temporary.iterdir()) == []


def test_workers_share_one_import(bench: Bench) -> None:
    bench.at_import(f"\nopen({str(bench.folder / 'count')!r}, 'a').write('x')\n")
    engine = bench.engine()
    workers = [engine.open() for _ in range(3)]
    assert [bench.outcome(worker) for worker in workers] == ["pass"] * 3
    assert len(bench.tree()[2]) == 3
    assert (bench.folder / "count").read_text() == "x"


def test_starts_again_after_a_loss(bench: Bench, mode: dict[str, str]) -> None:
    worker = bench.engine().open()
    bench.outcome(worker)
    guardian, _, _ = bench.tree()
    os.kill(guardian, signal.SIGKILL)
    wait_until(lambda: not children(guardian))
    assert worker._run(bench.request(), LIMITS).stopped == (StopReason.LOST if mode else StopReason.OUTSIDE)
    assert bench.outcome(worker) == "pass"


def test_a_lost_supervisor_costs_no_import(bench: Bench) -> None:
    worker = bench.engine().open()
    bench.outcome(worker)
    _, zygote, (supervisor,) = bench.tree()
    os.kill(supervisor, signal.SIGKILL)
    wait_until(lambda: not children(zygote))
    assert bench.outcome(worker) == "pass"
    assert bench.tree()[1] == zygote


def test_torch_that_cannot_be_imported(bench: Bench) -> None:
    bench.at_import("\nraise ImportError('libtorch.so: cannot open shared object file')\n")
    with pytest.raises(EngineError, match="cannot open shared object file"):
        bench.engine().start()


@pytest.mark.parametrize(
    ("how", "message"), [("os.abort()", "died by SIG(ABRT|SEGV)"), ("os._exit(9)", "left with status 9")]
)
def test_torch_that_crashes_at_import(bench: Bench, how: str, message: str) -> None:
    bench.at_import(f"\nimport sys; print('words before the end', file=sys.stderr, flush=True); {how}\n")
    with pytest.raises(EngineError, match=f"words before the end(?s:.*){message}"):
        bench.engine().start()


@pytest.mark.parametrize("times", [1, MAX_KILLS - 1, MAX_KILLS])
def test_killed_at_import(bench: Bench, times: int) -> None:
    """A few are accidents; more mean that the system will not have it."""
    count = bench.folder / "count"
    bench.at_import(
        f"\nopen({str(count)!r}, 'a').write('x')\n"
        f"if os.path.getsize({str(count)!r}) <= {times}: os.kill(os.getpid(), 9); time.sleep(9)\n"
    )
    engine = bench.engine()
    if times < MAX_KILLS:
        assert bench.outcome(engine.open()) == "pass"
    else:
        with pytest.raises(EngineError, match="died by SIGKILL"):
            engine.start()


def test_interrupted_request_is_not_answered_later(bench: Bench) -> None:
    """An interrupt in the middle of a cell must not shift every later answer by one."""
    worker = bench.engine().open()
    bench.outcome(worker)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            worker.run(bench.request("time.sleep(3600)"), LIMITS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert bench.outcome(worker, "assert False") == "wrong"
    assert bench.outcome(worker) == "pass"


def test_child_that_does_not_start(bench: Bench) -> None:
    worker = bench.engine(start_s=0.5).open()
    (bench.folder / "slow.py").write_text("import time\ntime.sleep(3600)\ndef test_it(): pass\n")
    ended = worker.run({**bench.request(), "path": str(bench.folder / "slow.py")}, LIMITS)
    assert ended.stopped is StopReason.START


def test_child_that_reports_and_stays(bench: Bench) -> None:
    worker = bench.engine(exit_s=0.5).open()
    body = "sys.stdout = type('Slow', (), {'flush': lambda self: time.sleep(3600)})()"
    assert worker.run(bench.request(body), LIMITS).stopped is StopReason.EXIT


def test_interpreter_that_is_not_there(bench: Bench) -> None:
    engine = Engine(EngineSettings(python=bench.folder / "no" / "python"))
    with pytest.raises(EngineError, match=r"no/python: the interpreter cannot be started: No such file"):
        engine.start()
    assert list(bench.temporary.iterdir()) == []


def test_interpreter_that_is_none(bench: Bench) -> None:
    """Whatever its exit code, it is a failure of the environment."""
    for status in (0, 1, 127):
        program = bench.folder / f"python-{status}"
        program.write_text(f"#!/bin/sh\necho not today >&2\nexit {status}\n")
        program.chmod(0o755)
        with pytest.raises(EngineError, match="not today"):
            Engine(EngineSettings(python=program)).start()


def test_a_request_in_a_fresh_interpreter(bench: Bench) -> None:
    worker = bench.engine().open()
    body = "assert os.environ['X'] == '1' and os.environ['PYTHONHASHSEED'] == '0'"
    assert bench.outcome(worker, body, isolation="spawn", env={"X": "1"}) == "pass"


def test_the_hash_seed_is_that_of_every_run(bench: Bench) -> None:
    worker = bench.engine().open()
    report = worker.run(bench.request("raise RuntimeError(hash('word'))"), LIMITS).frames["report"]
    assert (
        report["observation"]["message"]
        == os.popen(f"PYTHONHASHSEED=0 {sys.executable} -c 'print(hash(\"word\"))'").read().strip()
    )


@pytest.mark.parametrize("fault", ["time.sleep(3600)", "os._exit(1)"], ids=["hangs", "dies"])
def test_a_supervisor_that_never_says_hello_is_replaced_at_once(bench: Bench, fault: str) -> None:
    trap = bench.folder / "trap"
    bench.at_import(f"""
import sys, time
def spring():
    if os.path.exists({str(trap)!r}):
        os.unlink({str(trap)!r})
        {fault}
if "pt2bugs.engine.zygote" in sys.modules:
    os.register_at_fork(after_in_child=spring)
""")
    engine = bench.engine(hello_s=3)
    engine.start()
    guardian, zygote, _ = bench.tree()
    trap.touch()
    assert bench.outcome(engine.open()) == "pass"
    assert not trap.exists()
    # It is the same engine, and the one that hung was ended.
    assert bench.tree()[:2] == (guardian, zygote)
    wait_until(lambda: len(bench.tree()[2]) == 1)


@pytest.mark.parametrize("mode", [MODES["fallback"]], ids=["fallback"])
def test_an_orphan_that_is_slow_to_end_does_not_end_the_zygote(bench: Bench) -> None:
    engine = bench.engine()
    worker = engine.open()
    assert bench.outcome(worker) == "pass"
    guardian, zygote, (supervisor,) = bench.tree()
    trap = bench.folder / "trap"
    trap.touch()
    body = f"os.path.exists({str(trap)!r}) and (os.unlink({str(trap)!r}), time.sleep(60))"
    with ThreadPoolExecutor() as pool:
        outcome = pool.submit(bench.outcome, worker, body)
        wait_until(lambda: not trap.exists())
        (cell,) = children(supervisor)
        # Its parent cannot reap a process that is traced, until the tracer has.
        seize = 0x4206
        assert ctypes.CDLL(None).ptrace(seize, cell, 0, 0) == 0
        try:
            os.kill(supervisor, signal.SIGKILL)
            assert outcome.result() == "pass"
            assert bench.tree()[:2] == (guardian, zygote)
            assert cell in bench.tree()[2]
        finally:
            os.waitpid(cell, 0)
    wait_until(lambda: cell not in bench.tree()[2])
