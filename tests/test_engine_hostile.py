"""Hostile checks through the real plugin: each is classified right and leaves nothing behind.

Every hostile case file has a second check, `test_next`, that runs right after in a child of its own and
looks for anything the first one changed. The corpus runs once with a PID namespace and once without.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hostile import MORE, PASS, SHORT, SMALL, TIMEOUT, Hostile, crash
from pt2bugs.case.observation import FRAME_LIMIT, MESSAGE_LIMIT, OUTPUT_LIMIT
from pt2bugs.engine.protocol import MAX_PROCESSES
from pt2bugs.results.record import KEYS
from suite import Done, Suite

DEADLOCK = """
import ctypes
mutex = ctypes.create_string_buffer(256)
while True: ctypes.PyDLL(None).pthread_mutex_lock(mutex)
"""
"""In C, with the interpreter lock held, and no signal wakes it."""

HOSTILE = [
    Hostile(
        "paths_wherever_it_is_cut",
        """
        text = " ".join([f"{os.getcwd()}/x"] * 500)
        print(text, flush=True)
        raise ValueError(text)
        """,
        {"outcome": "raise", "error_type": "ValueError"},
    ),
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
    Hostile(
        "timer_replaced_on_its_way_out",
        """
        try: time.sleep(3600)
        finally: raise ValueError("another one")
        """,
        {**TIMEOUT, "error_type": "", "message": "still running after its timeout of 0.5 s"},
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
    # The real torch makes its pool of threads anew there; left to the threads of autograd, it aborts now and then.
    Hostile("threads_set_after_the_fork", "assert torch.threads_set_by == os.getpid()", PASS),
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

ODD_EXCEPTIONS = {
    "class_that_lies": "__class__ = property(lambda self: AssertionError)",
    "class_that_raises": "__class__ = property(lambda self: 1 / 0)",
    "cause_that_raises": "__cause__ = property(lambda self: 1 / 0)",
    "context_that_raises": "__context__ = property(lambda self: 1 / 0)",
    "traceback_that_raises": "__traceback__ = property(lambda self: 1 / 0)",
    "attributes_that_raise": "def __getattribute__(self, name): raise KeyError(name)",
    "str_that_is_no_text": "def __str__(self): return 3",
    "str_that_exits": "def __str__(self): raise SystemExit(0)",
    "str_of_a_subclass": "def __str__(self): return type('Text', (str,), {'__len__': lambda self: 1 / 0})('odd')",
    "repr_that_raises": "def __repr__(self): raise ValueError",
    "hash_that_raises": "def __hash__(self): raise ValueError",
    "equality_that_raises": "def __eq__(self, other): raise ValueError",
}
"""What a class of exceptions may define to be in the way of whoever looks at one."""

PATCHES = {
    "json_dumps": "import json; json.dumps = None",
    "json_encoder": "import json.encoder; json.encoder.JSONEncoder.encode = None",
    "getpid": "os.getpid = lambda: 0",
    "os_write": "os.write = None",
    "os_exit": "os._exit = lambda status: None",
    "len": "import builtins; builtins.len = lambda thing: 0",
    "isinstance": "import builtins; builtins.isinstance = None",
    "str": "import builtins; builtins.str = None",
    "type": "import builtins; builtins.type = None",
    "open": "import builtins; builtins.open = None",
    "all_builtins": "import builtins; vars(builtins).clear()",
    "clock": "time.perf_counter = lambda: 1e18",
    "monotonic": "time.monotonic = lambda: -1e18",
    "walk_tb": "import traceback; traceback.walk_tb = None",
    "traceback_exception": "import traceback; traceback.TracebackException = None",
    "compiled_patterns": "import re; re.compile = re.search = None",
    "modules_cleared": "sys.modules.clear()",
    "trace": "sys.settrace(lambda *_: 1 / 0)",
    "profile": "sys.setprofile(lambda *_: None)",
    "recursion_limit": "sys.setrecursionlimit(60)",
    "stdout_closed": "sys.stdout.close()",
    "stdout_replaced": "sys.stdout = sys.stderr = None",
    "alarm": "signal.setitimer = signal.alarm = None",
    "hooks": "sys.excepthook = sys.unraisablehook = None",
    "faulthandler": "import faulthandler; faulthandler.dump_traceback_later = None; faulthandler.disable()",
    "collector": "import gc; gc.disable(); gc.set_threshold(1)",
}
"""What a check may leave patched: the report of its outcome must not need it."""

STANDING = {
    "descriptors_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (16, 16))",
    "file_size_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))",
    "data_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_DATA, (1 << 20, 1 << 20))",
    "cpu_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (3600, 3600))",
    "priority_of_the_parent": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "processors_of_the_parent": "os.sched_setaffinity(os.getppid(), {min(os.sched_getaffinity(0))})",
    "scheduler_of_the_parent": "os.sched_setscheduler(os.getppid(), os.SCHED_BATCH, os.sched_param(0))",
}
"""What a check may change of the process that forked it, and with it of every cell after it."""

HOSTILE += [
    *(
        Hostile(
            name,
            f"class Odd(RuntimeError):\n    {body}\nraise Odd('odd')",
            {"outcome": "raise", "error_type": f"pt2bugs_case_{name}.test_hostile.<locals>.Odd"},
        )
        for name, body in ODD_EXCEPTIONS.items()
    ),
    *(Hostile(f"patched_{name}", body, PASS) for name, body in PATCHES.items()),
    *(
        Hostile(f"patched_{name}_and_wrong", f"{body}\nassert False, 'the true end'", {"outcome": "wrong"})
        for name, body in PATCHES.items()
        if name not in ("modules_cleared", "trace", "recursion_limit")
    ),
    *(Hostile(name, body, PASS) for name, body in STANDING.items()),
    Hostile(
        "metaclass_that_lies",
        """
        class Meta(type):
            __module__ = property(lambda cls: 1 / 0)
            __qualname__ = property(lambda cls: 7)
            def __getattribute__(cls, name): raise KeyError(name)
        class Odd(RuntimeError, metaclass=Meta): pass
        raise Odd("odd")
        """,
        {"outcome": "raise"},
    ),
    Hostile(
        "type_name_with_escapes", r"raise type('E\x1b[31m\r\n', (RuntimeError,), {})('x')", {"outcome": "raise"}
    ),
    Hostile("type_name_of_5_mb", "raise type('E' * 5_000_000, (RuntimeError,), {})('x')", {"outcome": "raise"}),
    Hostile("loop_of_causes", "e = RuntimeError('a')\ne.__cause__ = e.__context__ = e\nraise e", {"outcome": "raise"}),
    Hostile(
        "group_of_exceptions", "raise BaseExceptionGroup('g', [ValueError(1), OSError(28, 'no')])", {"outcome": "raise"}
    ),
    Hostile("base_exception", "raise BaseException('odd')", {"outcome": "raise", "error_type": "BaseException"}),
    Hostile("generator_exit", "raise GeneratorExit", {"outcome": "raise", "error_type": "GeneratorExit"}),
    Hostile("a_coroutine", "async def f(): pass\nreturn f()", {"outcome": "error"}),
    Hostile("a_generator", "return (x for x in ())", {"outcome": "error"}),
    Hostile("counters_cleared", "torch.compile(lambda: None)()\ntorch._dynamo.utils.counters.clear()",
            {**PASS, "graphs": 1}, settings={"compiles": True}),
    Hostile("stats_cleared", "torch.compile(lambda: None)()\ntorch._dynamo.utils.counters['stats'].clear()",
            {**PASS, "graphs": 1}, settings={"compiles": True}),
    Hostile("stats_replaced", "torch.compile(lambda: None)()\ntorch._dynamo.utils.counters['stats'] = {}",
            {**PASS, "graphs": 1}, settings={"compiles": True}),
    Hostile("own_alarm", "os.kill(os.getpid(), signal.SIGALRM); time.sleep(1)", crash("SIGALRM")),
    Hostile("own_timer", "signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(1)", crash("SIGALRM")),
    Hostile("message_like_a_timeout", "raise RuntimeError('Timeout (>1.0s)')", {"outcome": "raise"}),
    Hostile("message_like_bad_alloc", "raise RuntimeError('the compiler said bad_alloc')", {"outcome": "raise"}),
    Hostile("abort_after_the_words", "os.write(2, b'bad_alloc is what it said\\n'); os.abort()", crash("SIGABRT")),
    Hostile("nested_folders", "for _ in range(1200):\n    os.mkdir('d'); os.chdir('d')", PASS),
    Hostile("many_files", "for n in range(3000): open(f'f{n}', 'w').close()", PASS),
    Hostile("fifo_as_output", "os.unlink('../output'); os.mkfifo('../output')", PASS),
    Hostile("device_as_output", "os.unlink('../output'); os.symlink('/dev/zero', '../output')", PASS),
    Hostile("run_folder_removed", "import shutil; shutil.rmtree(os.path.dirname(os.path.dirname(os.getcwd())))", PASS),
    Hostile("optimized", "assert not sys.flags.optimize\nassert False", {"outcome": "wrong"}),
    Hostile("fork_bomb_that_ends", "for _ in range(6): os.fork()", PASS),
    Hostile("real_time_signal", "os.kill(os.getpid(), signal.SIGRTMIN + 3)", {"outcome": "crash"}),
    Hostile("execs_another_program", "os.execv('/bin/true', ['true'])", {"outcome": "crash", "exit_status": 0}),
    Hostile("umask_changed", "os.umask(0o777)", PASS),
    Hostile("socket_left_open", "import socket; socket.socketpair(); socket.create_server(('127.0.0.1', 0))", PASS),
    *MORE,
]  # fmt: skip

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
        assert tuple(key for key in record if key != "frames") == KEYS
        assert len(record["message"]) < MESSAGE_LIMIT + 100
        assert len(record["output_tail"]) < OUTPUT_LIMIT * 8
        frames = [record["frame"], *record.get("frames", [])]
        assert all(len(frame) < FRAME_LIMIT + 100 and "\n" not in frame for frame in frames)
        for text in (record["message"], record["output_tail"], record["error_type"], *frames):
            assert all(c.isprintable() or c in "\n\t" for c in text)


def test_a_cut_leaves_no_half_path(run: Run) -> None:
    record = run.done.record("paths_wherever_it_is_cut", "test_hostile")
    message = re.sub(r"\[\.\.\. \d+ characters left out \.\.\.\]", "", record["message"])
    assert len(message) > MESSAGE_LIMIT - 100
    whole = "/".join(("<cell>", "work", "x"))
    for word in f"{message} {record['output_tail']}".split():
        assert whole.startswith(word) or whole.endswith(word), word


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
