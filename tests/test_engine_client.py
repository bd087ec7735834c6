"""The engine as its users see it: it starts, loses processes, starts again, and leaks nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
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
from pt2bugs.engine.messages import CallRequest, CheckRequest
from pt2bugs.engine.protocol import Limits, ReportPipe, StopReason
from pt2bugs.engine.supervisor import GRACE
from pt2bugs.run.measurement import observe_exit
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
        self._open = contextlib.ExitStack()

    def at_import(self, program: str) -> None:
        """Have the fake torch run this when it is imported."""
        with (self.folder / "torch" / "torch" / "__init__.py").open("a") as file:
            file.write(program)

    def engine(self, **grace: float) -> Engine:
        return self.closing(Engine(EngineSettings(grace={**GRACE, **grace})))

    def closing(self, engine: Engine) -> Engine:
        """Close this engine when the test ends."""
        self._open.callback(engine.close)
        return engine

    def open(self, engine: Engine | None = None) -> Worker:
        """A worker of this engine, or of a new one; it is closed when the test ends."""
        worker = (engine or self.engine()).open()
        self._open.callback(worker.close)
        return worker

    def close(self) -> None:
        self._open.close()

    def request(self, body: str = "pass", **settings: Any) -> CheckRequest:
        path = self.folder / "program.py"
        path.write_text(f"import os, signal, sys, time\ndef test_it():\n    {body}\n")
        request: Any = {
            "kind": "check",
            "path": str(path),
            "check": "test_it",
            "arguments": {},
            "device": "cpu",
            "threads": 1,
            "timeout_s": LIMITS.timeout_s,
            "compiles": False,
            "setup": None,
            **settings,
        }
        asked: CheckRequest = request
        return asked

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
    bench = Bench(tmp_path, monkeypatch, mode)
    yield bench
    bench.close()


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
    worker = bench.open(engine)
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
    workers = [bench.open(engine) for _ in range(3)]
    assert [bench.outcome(worker) for worker in workers] == ["pass"] * 3
    assert len(bench.tree()[2]) == 3
    assert (bench.folder / "count").read_text() == "x"


def test_starts_again_after_a_loss(bench: Bench, mode: dict[str, str]) -> None:
    worker = bench.open()
    bench.outcome(worker)
    guardian, _, _ = bench.tree()
    os.kill(guardian, signal.SIGKILL)
    wait_until(lambda: not children(guardian))
    assert worker._run(bench.request(), LIMITS).stopped == (StopReason.LOST if mode else StopReason.OUTSIDE)
    assert bench.outcome(worker) == "pass"


def test_a_lost_supervisor_costs_no_import(bench: Bench) -> None:
    worker = bench.open()
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
        assert bench.outcome(bench.open(engine)) == "pass"
    else:
        with pytest.raises(EngineError, match="died by SIGKILL"):
            engine.start()


def test_interrupted_request_is_not_answered_later(bench: Bench) -> None:
    """An interrupt in the middle of a cell must not shift every later answer by one."""
    worker = bench.open()
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
    worker = bench.open(bench.engine(start_s=0.5))
    (bench.folder / "slow.py").write_text("import time\ntime.sleep(3600)\ndef test_it(): pass\n")
    ended = worker.run({**bench.request(), "path": str(bench.folder / "slow.py")}, LIMITS)
    assert ended.stopped is StopReason.START


def test_child_that_reports_and_stays(bench: Bench) -> None:
    worker = bench.open(bench.engine(exit_s=0.5))
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
    worker = bench.open()
    body = "assert os.environ['X'] == '1' and os.environ['PYTHONHASHSEED'] == '0'"
    assert bench.outcome(worker, body, isolation="spawn", env={"X": "1"}) == "pass"


def test_the_hash_seed_is_that_of_every_run(bench: Bench) -> None:
    worker = bench.open()
    report = worker.run(bench.request("raise RuntimeError(hash('word'))"), LIMITS).frames["report"]
    command = [sys.executable, "-c", "print(hash('word'))"]
    printed = subprocess.check_output(command, env={**os.environ, "PYTHONHASHSEED": "0"}, text=True)
    assert report["observation"]["message"] == printed.strip()


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
    assert bench.outcome(bench.open(engine)) == "pass"
    assert not trap.exists()
    # It is the same engine, and the one that hung was ended.
    assert bench.tree()[:2] == (guardian, zygote)
    wait_until(lambda: len(bench.tree()[2]) == 1)


@pytest.mark.parametrize("mode", [MODES["fallback"]], ids=["fallback"])
def test_an_orphan_that_is_slow_to_end_does_not_end_the_zygote(bench: Bench) -> None:
    engine = bench.engine()
    worker = bench.open(engine)
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


def call(bench: Bench, source: str, **payload: Any) -> CallRequest:
    """A request for the function `run` of a module of that source."""
    (bench.folder / "torch" / "called.py").write_text(source)
    request: Any = {"kind": "call", "function": "called:run", **payload}
    asked: CallRequest = request
    return asked


@pytest.mark.parametrize("isolation", ["fork", "spawn"])
def test_a_call_reports_what_the_function_returns(bench: Bench, isolation: str) -> None:
    source = "import os\ndef run(request):\n    return {'sum': sum(request['numbers']), 'x': os.environ['X']}\n"
    request = call(bench, source, numbers=[1, 2], isolation=isolation, env={"X": "1"})
    ended = bench.open().run(request, LIMITS)
    assert ended.frames["report"] == {"sum": 3, "x": "1"}
    assert (ended.exit_status, ended.stopped) == (0, None)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("def run(request): raise KeyError('x')", "KeyError"),
        ("def run(request): assert False", "AssertionError"),
        ("import absent", "ModuleNotFoundError"),
        ("", "AttributeError"),
        ("def run(request): return {1, 2}", "TypeError"),
    ],
)
def test_a_call_that_raises_is_observed(bench: Bench, source: str, error: str) -> None:
    seen, text = observe_exit(bench.open().run(call(bench, source), LIMITS), 5, 0)
    assert (str(seen.outcome), seen.error_type) == ("raise", error)
    assert error in text


def test_a_call_that_dies_has_told_before(bench: Bench) -> None:
    source = "import os\nfrom pt2bugs.engine.call import tell\ndef run(_):\n    tell('step', 3)\n    os.abort()\n"
    worker = bench.open()
    ended = worker.run(call(bench, source), LIMITS)
    assert (ended.frames["step"], ended.signal) == (3, signal.SIGABRT)
    assert worker.run(call(bench, "import time\ndef run(_): time.sleep(99)"), Limits(0.1, None)).stopped is not None


def test_an_engine_on_another_copy_of_torch(bench: Bench) -> None:
    write_torch(bench.folder / "patched", faults={"f": "raise"})
    engine = bench.closing(Engine(EngineSettings(paths=(bench.folder / "patched",), grace=GRACE)))
    source = "import torch\ndef run(_): return [torch.__file__, torch.faults]"
    request = call(bench, source)
    ended = bench.open(engine).run(request, LIMITS)
    assert ended.frames["report"] == [str(bench.folder / "patched" / "torch" / "__init__.py"), {"f": "raise"}]
    assert engine.facts.paths[f"{bench.folder}/patched/"] == ""
    fresh = bench.open(engine).run({**request, "isolation": "spawn"}, LIMITS)
    assert fresh.frames == ended.frames
