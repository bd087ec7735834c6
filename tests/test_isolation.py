"""Hostile checks through the real plugin: each is classified right and leaves nothing behind.

Every hostile case file has a second check, `test_next`, that runs right after in a child of its own and
looks for anything the first one changed. The corpus runs once with a PID namespace and once without.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from suite import Done, Suite, children, wait_until

from pt2bugs.engine import isolation
from pt2bugs.engine.isolation import MAX_PROCESSES, Channel, Home, IsolationError, Limits, Scratch, Zygote
from pt2bugs.results.record import KEYS
from pt2bugs.case.observation import MESSAGE_LIMIT, OUTPUT_LIMIT


@dataclass(frozen=True)
class Hostile:
    """A hostile check and what its journal line must say; without a namespace also `fallback`."""

    name: str
    body: str
    seen: dict[str, Any]
    fallback: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def crash(name: str) -> dict[str, Any]:
    return {"outcome": "crash", "signal": name}


PASS = {"outcome": "pass", "signal": "", "exit_status": 0}
TIMEOUT = {"outcome": "timeout"}
SHORT = {"timeout": 0.5}
SMALL = {"memory": 256}

DEADLOCK = """
import ctypes
mutex = ctypes.create_string_buffer(256)
while True: ctypes.PyDLL(None).pthread_mutex_lock(mutex)
"""
"""In C, with the interpreter lock held, and no signal wakes it."""

HOSTILE = [
    Hostile("null_read", "import ctypes; ctypes.string_at(0)", crash("SIGSEGV")),
    Hostile("abort", "os.abort()", crash("SIGABRT")),
    Hostile("exit_with_0", "os._exit(0)", {"outcome": "crash", "exit_status": 0, "signal": ""}),
    Hostile("exit_with_3", "os._exit(3)", {"outcome": "crash", "exit_status": 3, "signal": ""}),
    Hostile("system_exit", "raise SystemExit(0)", {"outcome": "raise", "error_type": "SystemExit"}),
    Hostile("keyboard_interrupt", "raise KeyboardInterrupt", {"outcome": "raise", "error_type": "KeyboardInterrupt"}),
    Hostile("interrupt_signal", "os.kill(os.getpid(), signal.SIGINT)", crash("SIGINT")),
    Hostile("pytest_exit", "import pytest; pytest.exit('enough', 0)", {"outcome": "raise"}),
    Hostile("endless_loop", "while True: pass", TIMEOUT, settings=SHORT),
    Hostile("sleep_with_the_lock", "import ctypes; ctypes.PyDLL(None).sleep(3600)", TIMEOUT, settings=SHORT),
    Hostile("deadlock_with_the_lock", DEADLOCK, TIMEOUT, settings=SHORT),
    Hostile(
        "signals_ignored",
        """
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(3600)
        """,
        TIMEOUT,
        settings=SHORT,
    ),
    Hostile(
        "timer_swallowed_for_ever",
        """
        while True:
            try: time.sleep(3600)
            except BaseException: pass
        """,
        TIMEOUT,
        settings=SHORT,
    ),
    Hostile(
        "timer_swallowed_once",
        """
        try: time.sleep(3600)
        except BaseException: pass
        """,
        TIMEOUT,
        settings=SHORT,
    ),
    Hostile("stopped", "os.kill(os.getpid(), signal.SIGSTOP)", TIMEOUT, settings=SHORT),
    Hostile("child_holds_the_pipes", "if os.fork() == 0: time.sleep(3600)", PASS),
    Hostile("child_of_a_thread", "in_thread(lambda: os.fork() or time.sleep(3600)); time.sleep(0.2)", PASS),
    Hostile("child_in_its_own_session", "subprocess.Popen(['sleep', '3600'], start_new_session=True)", PASS),
    Hostile(
        "orphan_that_ignores_signals",
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                time.sleep(3600)
            os._exit(0)
        os.wait()
        """,
        PASS,
    ),
    Hostile(
        "child_runs_on_as_the_check",
        """
        if os.fork() == 0: return
        time.sleep(0.3)
        assert False, "the true end"
        """,
        {"outcome": "wrong", "message": "the true end"},
    ),
    Hostile(
        "child_reports_and_parent_dies",
        """
        if os.fork() == 0: return
        time.sleep(0.3)
        os.abort()
        """,
        crash("SIGABRT"),
    ),
    Hostile("own_group_killed", "os.killpg(0, signal.SIGKILL)", crash("SIGKILL")),
    Hostile("parent_killed", "os.kill(os.getppid(), signal.SIGKILL); time.sleep(1)", PASS, {"outcome": "crash"}),
    Hostile("parent_stopped", "os.kill(os.getppid(), signal.SIGSTOP); time.sleep(1)", PASS, {"outcome": "crash"}),
    Hostile("endless_output", "while True: os.write(1, b'x' * (1 << 20))", TIMEOUT, settings=SHORT),
    Hostile("descriptors_closed", "os.closerange(0, 4096)", {"outcome": "crash", "signal": ""}),
    Hostile(
        "descriptors_written",
        """
        for fd in range(3, 64):
            try: os.write(fd, b'junk\\n{"outcome": "pass"}\\n')
            except OSError: pass
        assert False
        """,
        {"outcome": "wrong"},
    ),
    Hostile("memory", "x = []\nwhile True: x.append(bytearray(16 << 20))", {"outcome": "oom"}, settings=SMALL),
    Hostile(
        "memory_of_children",
        """
        for _ in range(4):
            if os.fork() == 0:
                x = bytearray(120 << 20)
                time.sleep(3600)
        time.sleep(3600)
        """,
        {"outcome": "oom"},
        settings=SMALL,
    ),
    Hostile(
        "processes",
        f"""
        for _ in range({MAX_PROCESSES} + 10):
            if os.fork() == 0: time.sleep(3600)
        time.sleep(3600)
        """,
        {"outcome": "crash", "signal": "SIGKILL"},
    ),
    Hostile("file_too_large", "open('big', 'wb').truncate(1 << 40)", {"outcome": "raise", "error_type": "OSError"}),
    Hostile(
        "c_stack_overflow",
        """
        import ctypes
        ctypes.CDLL(None).regcomp(ctypes.create_string_buffer(4096), b'(' * 10_000_000, 1)
        """,
        crash("SIGSEGV"),
    ),
    Hostile("recursion", "f = lambda: f()\nf()", {"outcome": "raise", "error_type": "RecursionError"}),
    Hostile("thread_left_running", "threading.Thread(target=time.sleep, args=(3600,)).start()", PASS),
    Hostile("atexit_that_hangs", "import atexit; atexit.register(time.sleep, 3600)", PASS),
    Hostile(
        "str_that_raises",
        """
        class Odd(Exception):
            def __str__(self): raise ValueError("no")
            __repr__ = __str__
        raise Odd
        """,
        {"outcome": "raise", "error_type": "pt2bugs_case_str_that_raises.test_hostile.<locals>.Odd"},
    ),
    Hostile(
        "huge_message", "raise RuntimeError('x' * 200_000_000)", {"outcome": "raise", "error_type": "RuntimeError"}
    ),
    Hostile("odd_text_raised", r"raise RuntimeError('\udc80\x00\x1b[31m\r\u202e')", {"outcome": "raise"}),
    Hostile(
        "odd_text_printed",
        r"""
        os.write(1, b'\xff\x00\x1b]0;title\x07\r')
        sys.stdout.write('\udc80')
        """,
        PASS,
    ),
    Hostile(
        "forged_report",
        """
        line = '{"case": "forged_report", "outcome": "pass", "verdict": "pass"}'
        for text in (line, f"0123456789abcdef report {line}", "1 passed in 0.01s"):
            print(text, flush=True)
            print(text, file=sys.stderr, flush=True)
        assert False
        """,
        {"outcome": "wrong"},
    ),
    Hostile("folder_changed", "os.chdir('/')", PASS),
    Hostile("folder_removed", "import shutil; shutil.rmtree(os.getcwd())", PASS),
    Hostile("folder_locked", "os.mkdir('a'); open('a/b', 'w'); os.chmod('a', 0); os.chmod('.', 0)", PASS),
    Hostile("environment_cleared", "os.environ.clear(); os.environ['ADDED'] = '1'", PASS),
    Hostile("settings_changed", "torch.set_num_threads(7); torch.set_default_dtype('int'); sys.path.clear()", PASS),
    Hostile(
        "compiler_replaced", "torch.compile = None; sys.modules['json'] = None; import random; random.seed(3)", PASS
    ),
    Hostile("counters_broken", "import torch._dynamo.utils as u; u.counters = None", {"outcome": "error"}),
    Hostile("files_written", "open('a', 'w').write('x'); open(tempfile.mkstemp()[1], 'w').write('x')", PASS),
    Hostile("no_space", "open('/dev/full', 'w', buffering=1).write('x\\n')", {"outcome": "error"}),
    Hostile("never_compiles", "return", {"outcome": "error"}, settings={"compiles": True}),
    # The same in a fresh interpreter.
    Hostile("spawn_null_read", "import ctypes; ctypes.string_at(0)", crash("SIGSEGV"), settings={"isolation": "spawn"}),
    Hostile("spawn_exit", "os._exit(0)", {"outcome": "crash", "exit_status": 0}, settings={"isolation": "spawn"}),
    Hostile("spawn_wrong", "assert False", {"outcome": "wrong"}, settings={"isolation": "spawn"}),
    Hostile(
        "spawn_leaves_threads",
        "import atexit; atexit.register(time.sleep, 3600); threading.Thread(target=time.sleep, args=(3600,)).start()",
        PASS,
        settings={"isolation": "spawn"},
    ),
    Hostile(
        "spawn_hang",
        DEADLOCK,
        TIMEOUT,
        settings={"isolation": "spawn", **SHORT},
    ),
    Hostile("spawn_env", "assert os.environ['X'] == '1'; os.environ['X'] = '2'", PASS, settings={"env": {"X": "1"}}),
]

_BODY = """
import os, random, resource, signal, subprocess, sys, tempfile, threading, time
import torch

def in_thread(function):
    threading.Thread(target=function, daemon=True).start()

def test_hostile():
{body}

def test_next():
    assert random.random() == random.Random(0).random()
    assert torch.get_num_threads() == 1 and torch._default_dtype == "float32" and torch.compile is not None
    assert sum(torch._dynamo.utils.counters["stats"].values()) == 0
    assert "ADDED" not in os.environ and os.environ["SUITE_MARK"] and sys.path and sys.modules["json"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
    # A folder of its own: empty, with a home and a temporary folder beside.
    assert os.listdir() == [] == os.listdir(tempfile.gettempdir())
    cell = os.path.dirname(os.getcwd())
    for name in ("HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME"):
        assert os.environ[name].startswith(cell + "/"), name
    # Nobody else's processes, descriptors, input or secrets.
    assert os.getsid(0) == os.getpid() and not threading.enumerate()[1:]
    assert sys.stdin.read() == "" and os.read(0, 1) == b""
    with os.scandir("/proc/self/fd") as entries:
        targets = [os.readlink(entry) for entry in entries]
    assert not [t for t in targets if not t.startswith(("/dev/null", cell, "pipe:", "/proc/"))], targets
    assert len([t for t in targets if t.startswith("pipe:")]) == 1, targets
    for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD", "SOME_INDEX"):
        assert name not in os.environ, name
    # Limits.
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
    for which in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_DATA):
        assert resource.getrlimit(which)[0] != resource.RLIM_INFINITY
"""

SECRETS = {
    "HF_TOKEN": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "MY_PASSWORD": "x",
    "SOME_INDEX": "https://someone:x@example.org/simple",
}
MODES = {"namespace": {}, "fallback": {"PT2BUGS_NO_NAMESPACE": "1"}}


def write_hostile(suite: Suite, hostile: Hostile) -> None:
    body = "\n".join(f"    {line}" for line in textwrap.dedent(hostile.body.strip("\n")).splitlines())
    suite.case(hostile.name, _BODY.format(body=body), **{"compiles": False, **hostile.settings})


@dataclass
class Run:
    mode: str
    suite: Suite
    done: Done
    left: set[Path]
    survivors: list[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """The hostile corpus, run in both modes at once."""
    started = {}
    for mode, env in MODES.items():
        suite = Suite(tmp_path_factory.mktemp(mode))
        for hostile in HOSTILE:
            write_hostile(suite, hostile)
        suite.case("unimportable", "import no_such_module\ndef test_hostile(): pass\n")
        suite.case("crashes_at_import", "import os\nos.abort()\ndef test_hostile(): pass\n")
        before = set(suite.folder.iterdir())
        started[mode] = (suite, before, suite.start(**env, **SECRETS))
    found = {}
    for mode, (suite, before, process) in started.items():
        done = suite.finish(process)
        left = set(suite.folder.iterdir()) - before - {suite.journal}
        found[mode] = Run(mode, suite, done, left, suite.survivors())
    yield found


@pytest.fixture(params=MODES)
def run(request: pytest.FixtureRequest, runs: dict[str, Run]) -> Run:
    return runs[request.param]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
class TestHostileCheck:
    def test_is_classified_right(self, hostile: Hostile, run: Run) -> None:
        record = run.done.record(hostile.name, "test_hostile")
        expected = {**hostile.seen, **(hostile.fallback if run.mode == "fallback" else {})}
        if hostile.fallback and run.mode == "fallback":
            expected = hostile.fallback
        assert {key: record[key] for key in expected} == expected, record

    def test_changes_nothing_for_the_next_cell(self, hostile: Hostile, run: Run) -> None:
        record = run.done.record(hostile.name, "test_next")
        expected = "error" if hostile.settings.get("compiles") else "pass"
        assert record["outcome"] == expected, (record["message"], record["output_tail"])

    def test_has_a_readable_journal_line(self, hostile: Hostile, run: Run) -> None:
        record = run.done.record(hostile.name, "test_hostile")
        assert tuple(record) == KEYS
        assert len(record["message"]) < MESSAGE_LIMIT + 100
        assert len(record["output_tail"]) < OUTPUT_LIMIT * 8
        for text in (record["message"], record["output_tail"], record["error_type"]):
            assert all(c.isprintable() or c in "\n\t" for c in text)


def test_nothing_is_left_behind(run: Run) -> None:
    assert run.survivors == []
    assert run.left == set()
    assert list(run.suite.temporary.iterdir()) == []
    assert {path.name for path in run.suite.home.iterdir()} <= {"cache"}


def test_pytest_ends_as_it_should(run: Run) -> None:
    assert run.done.status == 1
    assert "INTERNALERROR" not in run.done.output
    assert "\x1b" not in run.done.output
    assert "\0" not in run.done.output


def test_case_file_that_cannot_be_imported(run: Run) -> None:
    record = run.done.record("unimportable")
    assert (record["outcome"], record["verdict"]) == ("error", "error")
    assert "No module named 'no_such_module'" in record["message"]


def test_case_file_that_crashes_at_import(run: Run) -> None:
    record = run.done.record("crashes_at_import")
    assert (record["outcome"], record["verdict"]) == ("error", "error")
    assert record["message"] == "the check had not started: died by SIGABRT"


def test_a_timeout_shows_where(run: Run) -> None:
    for name in ("deadlock_with_the_lock", "signals_ignored", "spawn_hang"):
        assert "test_hostile" in run.done.record(name, "test_hostile")["output_tail"], name
    assert "endless_loop.py" in run.done.output


def test_deadlines_are_kept(run: Run) -> None:
    for record in run.done.records:
        if record["outcome"] == "timeout":
            assert 0.4 < record["duration_s"] < 60, record["case"]


# --- kills from outside -------------------------------------------------------------------------------

_WAITS_ONCE = """
import os, time
from pathlib import Path

def test_a(): pass

def test_b():
    {what}
    mark = Path(os.environ["SUITE_FOLDER"], "mark")
    if not mark.exists():
        mark.touch()
        time.sleep(3600)

def test_c(): pass
"""


class Tree:
    """The processes of a running suite, from pytest down to the cell, as soon as the cell waits."""

    def __init__(self, suite: Suite, *, what: str = "pass", **env: str) -> None:
        suite.case("waits", _WAITS_ONCE.format(what=what), compiles=False)
        self.suite = suite
        self.mark = suite.folder / "mark"
        self.process = suite.start(SUITE_FOLDER=str(suite.folder), **env)
        wait_until(self.mark.exists)
        self.pytest = self.process.pid
        (self.guardian,) = children(self.pytest)
        (self.zygote,) = children(self.guardian)
        (self.cell,) = children(self.zygote)

    def ends(self) -> Done:
        done = self.suite.finish(self.process)
        wait_until(lambda: not self.suite.processes(), 20)
        return done


@pytest.fixture(params=MODES)
def env(request: pytest.FixtureRequest) -> dict[str, str]:
    return MODES[request.param]


class TestKilledFromOutside:
    @pytest.mark.parametrize("victim", ["cell", "zygote", "guardian"])
    def test_below_pytest(self, suite: Suite, env: dict[str, str], victim: str) -> None:
        """The run goes on, and the cell it hit is run again: no false verdict."""
        tree = Tree(suite, **env)
        os.kill(getattr(tree, victim), signal.SIGKILL)
        done = tree.ends()
        assert done.status == 0, done.output
        assert done.outcomes() == {f"waits::test_{name}": "pass" for name in "abc"}
        assert list(suite.temporary.iterdir()) == []

    def test_pytest_itself(self, suite: Suite, env: dict[str, str]) -> None:
        """What had finished is in the journal; nothing runs on, and no folder stays."""
        tree = Tree(suite, what="import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)", **env)
        os.kill(tree.pytest, signal.SIGKILL)
        done = tree.ends()
        assert done.outcomes() == {"waits::test_a": "pass"}
        wait_until(lambda: not list(suite.temporary.iterdir()), 20)
        assert suite.run(SUITE_FOLDER=str(suite.folder), **env).status == 0

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_run_is_stopped(self, suite: Suite, env: dict[str, str], number: signal.Signals) -> None:
        tree = Tree(suite, **env)
        os.kill(tree.pytest, number)
        done = tree.ends()
        assert done.status == (2 if number is signal.SIGINT else -signal.SIGTERM)
        assert done.outcomes() == {"waits::test_a": "pass"}
        wait_until(lambda: not list(suite.temporary.iterdir()), 20)

    def test_check_that_is_killed_twice(self, suite: Suite) -> None:
        """A second SIGKILL is believed: the check may do it itself."""
        tree = Tree(suite)
        tree.mark.unlink()
        os.kill(tree.cell, signal.SIGKILL)
        wait_until(tree.mark.exists)
        (again,) = children(tree.zygote)
        os.kill(again, signal.SIGKILL)
        done = tree.ends()
        assert done.record("waits", "test_b")["outcome"] == "crash"
        assert done.record("waits", "test_b")["signal"] == "SIGKILL"

    def test_supervisor_that_is_killed_twice(self, suite: Suite) -> None:
        """In a namespace no check can do that: it is never the bug."""
        tree = Tree(suite)
        tree.mark.unlink()
        os.kill(tree.zygote, signal.SIGKILL)
        wait_until(tree.mark.exists)
        (guardian,) = children(tree.pytest)
        os.kill(guardian, signal.SIGKILL)
        done = tree.ends()
        assert done.record("waits", "test_b")["outcome"] == "error"
        assert done.record("waits", "test_c")["outcome"] == "pass"


# --- places and users ---------------------------------------------------------------------------------


def _can(command: list[str]) -> bool:
    return shutil.which(command[0]) is not None and subprocess.run([*command, "true"], check=False).returncode == 0


@pytest.mark.skipif(not _can(["unshare", "--mount"]), reason="a file system of its own takes root")
class TestFullTemporaryFolder:
    def start(self, suite: Suite, size: str) -> Done:
        mount = f"mount -t tmpfs -o {size} none {suite.temporary}"
        command = ["unshare", "--mount", "sh", "-c", f'{mount}; exec "$@"', "sh", *suite.command()]
        done = subprocess.run(
            command, cwd=suite.folder, env=suite.environ(), capture_output=True, text=True, check=False
        )  # fmt: skip
        return Done(done.returncode, done.stdout + done.stderr, suite.records())

    def test_filled_by_a_check(self, suite: Suite) -> None:
        suite.case(
            "fills",
            """
            import os
            def test_a():
                with open("big", "wb") as file:
                    while True: file.write(bytes(1 << 16))
            def test_b():
                with open("big", "wb") as file: file.write(bytes(1 << 20))
            """,
            compiles=False,
        )
        done = self.start(suite, "size=4m")
        assert done.outcomes() == {"fills::test_a": "error", "fills::test_b": "pass"}, done.output
        assert "No space left on device" in done.record("fills", "test_a")["message"]

    @pytest.mark.parametrize("files", [3, 5, 7, 9])
    def test_full_from_the_start(self, suite: Suite, files: int) -> None:
        """Whatever it is that cannot be made any more: the folder of the run, of the cell, its output."""
        suite.case("fine", "def test_a(): pass", compiles=False)
        done = self.start(suite, f"nr_inodes={files}")
        assert done.status == 1, done.output
        assert done.verdicts() == {"fine::test_a": "error"}
        assert "No space left on device" in done.records[0]["message"]
        assert "INTERNALERROR" not in done.output


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="becoming another user takes root")
def test_without_root(env: dict[str, str]) -> None:
    """An ordinary user gets a namespace too, where the system lets them."""
    become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    # Not every checkout can be read by others.
    if subprocess.run([*become, sys.executable, "-c", "import harness.plugin"], check=False, cwd="/").returncode:
        pytest.skip("this Python cannot be used by another user")
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(Path(folder))
        for name in ("null_read", "parent_killed", "child_in_its_own_session", "memory", "environment_cleared"):
            write_hostile(suite, next(hostile for hostile in HOSTILE if hostile.name == name))
        for path in (suite.folder, *suite.folder.iterdir()):
            shutil.chown(path, 65534, 65534)
        run_as(become, suite, env)


def run_as(become: list[str], suite: Suite, env: dict[str, str]) -> None:
    done = subprocess.run(
        [*become, *suite.command()], env=suite.environ(**env, **SECRETS), cwd=suite.folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    outcomes = Done(done.returncode, done.stdout + done.stderr, suite.records()).outcomes()
    assert outcomes, done.stdout + done.stderr
    assert outcomes.pop("parent_killed::test_hostile") in ("pass", "crash")
    assert outcomes.pop("null_read::test_hostile") == "crash", done.stdout
    assert outcomes.pop("memory::test_hostile") == "oom"
    assert set(outcomes.values()) == {"pass"}, outcomes
    assert suite.survivors() == []
    assert list(suite.temporary.iterdir()) == []


# --- on the real torch --------------------------------------------------------------------------------

REAL = """
import ctypes, os, random, time
import torch

def compiled(x):
    return torch.compile(lambda x: x.sin() * 2 + 1, backend="eager")(x)

def test_a_null_read_below_a_compiled_function():
    @torch.compile(backend="eager")
    def program(x):
        torch._dynamo.graph_break()
        ctypes.string_at(0)
        return x + 1
    program(torch.ones(3))

def test_b_memory():
    x = [compiled(torch.ones(1))]
    while True:
        x.append(torch.ones(16 << 20))

def test_c_settings():
    compiled(torch.ones(3))
    torch.set_num_threads(7)
    torch.manual_seed(42)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    torch._dynamo.config.cache_size_limit = 1
    torch._dynamo.config.suppress_errors = True
    torch._inductor.config.fallback_random = True
    torch._dynamo.config.verify_correctness = True

def test_d_next():
    assert torch.get_num_threads() == 1
    assert torch.initial_seed() == 0
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled() and not torch.are_deterministic_algorithms_enabled()
    assert torch._dynamo.config.cache_size_limit > 1
    assert not torch._dynamo.config.suppress_errors and not torch._dynamo.config.verify_correctness
    assert not torch._inductor.config.fallback_random
    assert not torch._dynamo.utils.counters["stats"]
    compiled(torch.ones(3))

def test_e_eager_only():
    torch.ones(3).sin()
"""


HANG = """
import ctypes
import torch

def test_hang_that_holds_the_lock():
    @torch.compile(backend="eager")
    def program(x):
        torch._dynamo.graph_break()
        mutex = ctypes.create_string_buffer(256)
        while True: ctypes.PyDLL(None).pthread_mutex_lock(mutex)
    program(torch.ones(3))
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Done:
    suite = Suite(tmp_path_factory.mktemp("real"), real_torch=True)
    suite.case("real", REAL, backends=["eager"], memory=1024)
    suite.case("hang", HANG, backends=["eager"], timeout=4)
    done = suite.run()
    assert suite.survivors() == []
    assert list(suite.temporary.iterdir()) == []
    return done


@pytest.mark.parametrize(
    ("check", "seen"),
    [
        ("test_a_null_read_below_a_compiled_function", crash("SIGSEGV")),
        ("test_b_memory", {"outcome": "oom"}),
        ("test_hang_that_holds_the_lock", TIMEOUT),
        ("test_c_settings", PASS),
        ("test_d_next", {**PASS, "graphs": 1}),
        ("test_e_eager_only", {"outcome": "error", "graphs": 0}),
    ],
)
def test_on_the_real_torch(real: Done, check: str, seen: dict[str, Any]) -> None:
    record = real.record("hang" if "hang" in check else "real", check)
    assert {key: record[key] for key in seen} == seen, record


# --- the parts ----------------------------------------------------------------------------------------


def _facts(_: Path) -> dict[str, Any]:
    return {"pid": os.getpid()}


def _answer(request: dict[str, Any], channel: Channel) -> None:
    channel.start()
    channel.send("report", {"twice": 2 * request["number"]})


def descriptors(pid: int | str) -> set[str]:
    return {path.name for path in Path(f"/proc/{pid}/fd").iterdir()}


LIMITS = Limits(timeout_s=5, memory_mib=None)


@pytest.fixture
def zygote(monkeypatch: pytest.MonkeyPatch, env: dict[str, str], tmp_path: Path) -> Iterator[Zygote]:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = Zygote(_facts, _answer)
    yield found
    found.close()


def test_only_its_owner_speaks_on_a_channel() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    channel = Channel(writer, "nonce")
    channel.start()
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    channel.own()
    channel.start()
    assert os.read(reader, 99) == b"nonce started {}\n"
    os.close(reader)
    os.close(writer)


class TestHome:
    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
        for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
            monkeypatch.setenv(name, "")
        home = Home(tmp_path)
        home.make()
        Path(home.path, "output").write_text("printed")
        return home

    def is_new(self, home: Home) -> bool:
        """Whether it is as a cell expects it; the output may be there, and is empty then."""
        path = Path(home.path)
        output = path / "output"
        folders = [entry for entry in path.iterdir() if entry != output]
        assert sorted(entry.name for entry in folders) == ["home", "tmp", "work"]
        assert os.environ["HOME"] == f"{home.path}/home"
        return (
            all(entry.stat().st_mode == stat.S_IFDIR | 0o700 and not list(entry.iterdir()) for entry in folders)
            and path.stat().st_mode == stat.S_IFDIR | 0o700
            and (not output.exists() or output.read_text() == "")
        )

    def test_left_as_it_was_found_is_kept(self, home: Home) -> None:
        inode = Path(home.path).stat().st_ino
        home.renew()
        home.make()
        assert self.is_new(home)
        assert Path(home.path).stat().st_ino == inode

    @pytest.mark.parametrize(
        "what",
        [
            "(home / 'tmp' / 'file').touch()",
            "(home / 'inductor').mkdir()",
            "(home / 'work' / '.hidden').mkdir()",
            "(home / 'home').rmdir()",
            "(home / 'tmp').chmod(0)",
            "home.chmod(0o500)",
            "(home / 'work').rmdir(); (home / 'work').symlink_to(home.parent)",
            "(home / 'output').unlink()",
            "shutil.rmtree(home)",
            "shutil.rmtree(home); home.touch()",
            "shutil.rmtree(home); home.symlink_to(elsewhere)",
        ],
    )
    def test_touched_is_replaced(self, home: Home, tmp_path_factory: pytest.TempPathFactory, what: str) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (elsewhere / "kept").mkdir(mode=0o755)
        exec(what, {"home": Path(home.path), "shutil": shutil, "elsewhere": elsewhere})
        home.renew()
        home.make()
        assert self.is_new(home)
        assert (elsewhere / "kept").stat().st_mode == stat.S_IFDIR | 0o755

    @pytest.mark.parametrize("kind", ["symlink_to", "hardlink_to"])
    def test_a_linked_output_is_not_emptied(self, home: Home, tmp_path: Path, kind: str) -> None:
        mine = tmp_path / "mine"
        mine.write_text("mine")
        output = Path(home.path, "output")
        output.unlink()
        getattr(output, kind)(mine)
        home.renew()
        home.make()
        assert mine.read_text() == "mine"
        assert self.is_new(home)

    def test_what_cannot_be_removed_is_left_behind(self, home: Home) -> None:
        first = home.path
        busy = Path(first, "work")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(busy)], check=False, capture_output=True)
        if mounted.returncode != 0:
            pytest.skip("cannot mount a file system here")
        try:
            home.renew()
            home.make()
            assert home.path != first
            assert self.is_new(home)
        finally:
            subprocess.run(["umount", "-l", str(busy)], check=True)


class TestZygote:
    def test_leaks_nothing(self, zygote: Zygote, tmp_path: Path) -> None:
        before = descriptors("self")
        zygote.run({"number": 0}, LIMITS)
        (guardian,) = set(children(os.getpid()))
        (below,) = children(guardian)
        # It sees to the folder of a cell, which takes descriptors, after it has answered, and before it answers again.
        zygote.learn(None)
        below_before = descriptors(below)
        for number in range(30):
            assert zygote.run({"number": number}, LIMITS).frames["report"] == {"twice": 2 * number}
        wait_until(lambda: descriptors(below) == below_before)
        assert children(below) == []
        zygote.close()
        assert descriptors("self") == before
        assert children(os.getpid()) == []
        assert list(tmp_path.iterdir()) == []

    def test_starts_again_after_a_loss(self, zygote: Zygote, env: dict[str, str]) -> None:
        zygote.start()
        (guardian,) = children(os.getpid())
        os.kill(guardian, signal.SIGKILL)
        wait_until(lambda: not children(guardian))
        assert zygote.run({"number": 1}, LIMITS).stopped == ("lost" if env else "outside")
        assert zygote.run({"number": 2}, LIMITS).frames["report"] == {"twice": 4}

    def test_environment_that_cannot_be_prepared(self, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in env.items():
            monkeypatch.setenv(name, value)

        def broken(_: Path) -> dict[str, Any]:
            raise ImportError("libtorch.so: cannot open shared object file")

        with pytest.raises(IsolationError, match="cannot open shared object file"):
            Zygote(broken, _answer).start()

    @pytest.mark.parametrize(("how", "words"), [("abort", "died by SIG(ABRT|SEGV)"), ("leave", "left with status 9")])
    def test_environment_that_crashes_at_import(
        self, env: dict[str, str], monkeypatch: pytest.MonkeyPatch, how: str, words: str
    ) -> None:
        for name, value in env.items():
            monkeypatch.setenv(name, value)

        def crashes(_: Path) -> dict[str, Any]:
            print("words before the end", file=sys.stderr, flush=True)
            if how == "leave":
                os._exit(9)
            os.abort()

        with pytest.raises(IsolationError, match=f"words before the end(?s:.*){words}"):
            Zygote(crashes, _answer).start()

    @pytest.mark.parametrize("times", [1, 2])
    def test_killed_at_import(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, times: int) -> None:
        """Once is an accident; twice means that the system will not have it."""
        monkeypatch.setenv("PT2BUGS_NO_NAMESPACE", "1")

        def is_killed(_: Path) -> dict[str, Any]:
            with (tmp_path / "count").open("a") as file:
                file.write("x")
            if (tmp_path / "count").stat().st_size <= times:
                os.kill(os.getpid(), signal.SIGKILL)
            return {}

        zygote = Zygote(is_killed, _answer)
        if times == 1:
            zygote.start()
            assert zygote.run({"number": 1}, LIMITS).frames["report"] == {"twice": 2}
        else:
            with pytest.raises(IsolationError, match="died by SIGKILL"):
                zygote.start()
        zygote.close()

    def test_interrupted_question_is_not_answered_later(self, zygote: Zygote) -> None:
        """An interrupt in the middle of a cell must not shift every later answer by one."""
        zygote.start()

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        former = signal.signal(signal.SIGALRM, interrupt)
        try:
            zygote._body = lambda request, channel: time.sleep(3600)
            zygote.close()
            zygote.start()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                zygote.run({"number": 1}, LIMITS)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)
        zygote._body = _answer
        assert zygote.run({"number": 2}, LIMITS).frames["report"] == {"twice": 4}

    def test_child_that_does_not_start(self, zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(isolation, "START_S", 0.3)
        zygote._body = lambda request, channel: time.sleep(3600)
        assert zygote.run({"number": 1}, LIMITS).stopped == "start"

    def test_child_that_reports_and_stays(self, zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(isolation, "LEAVE_S", 0.3)

        def stays(request: dict[str, Any], channel: Channel) -> None:
            _answer(request, channel)
            time.sleep(3600)

        zygote._body = stays
        assert zygote.run({"number": 1}, LIMITS).stopped == "leave"


class TestScratch:
    @pytest.fixture(autouse=True)
    def base(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def abandon(self) -> Path:
        scratch = Scratch.create()
        (scratch.path / "cell").mkdir()
        os.close(scratch._lock)
        return scratch.path

    def age(self, path: Path) -> None:
        os.utime(path, (time.time() - 60,) * 2)

    def test_of_a_killed_run_is_removed_by_the_next(self) -> None:
        old = self.abandon()
        self.age(old)
        new = Scratch.create()
        assert not old.exists()
        assert new.path.exists()
        new.remove()
        assert not new.path.exists()

    def test_in_use_stays(self) -> None:
        used = Scratch.create()
        self.age(used.path)
        Scratch.create().remove()
        assert used.path.exists()
        used.remove()

    def test_just_made_stays(self) -> None:
        made = self.abandon()
        Scratch.create().remove()
        assert made.exists()

    def test_link_to_elsewhere_is_not_followed(self, tmp_path: Path) -> None:
        precious = tmp_path / "precious"
        precious.mkdir(mode=0o500)
        link = tmp_path / f"{Scratch.PREFIX}link"
        link.symlink_to(precious)
        os.utime(link, (0, 0), follow_symlinks=False)
        Scratch.create().remove()
        assert precious.stat().st_mode & 0o777 == 0o500
