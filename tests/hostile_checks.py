"""The hostile checks, those of ``hostile.py`` too: endings, deadlines, children, exceptions, patched functions."""

from __future__ import annotations

from hostile import MORE, PASS, SHORT, SMALL, TIMEOUT, Hostile, crash
from pt2bugs.engine.protocol import MAX_PROCESSES

DEADLOCK = """
import ctypes
mutex = ctypes.create_string_buffer(256)
while True: ctypes.PyDLL(None).pthread_mutex_lock(mutex)
"""
"""In C, with the interpreter lock held, and no signal wakes it."""

RETURNS = {
    "false": "return False",
    "true": "return True",
    "a_lambda": "return lambda: None",
    "a_map": "return map(print, [1])",
    "a_partial": "import functools; return functools.partial(print)",
    "a_context_manager": "import contextlib; return contextlib.nullcontext()",
    "a_class": "return type('X', (), {'__class__': None, '__eq__': lambda *_: True})()",
}
FORGED = """
frame = sys._getframe()
while frame:
    for value in list(frame.f_locals.values()):
        if type(value).__name__ == "ReportPipe": pipe = value
    frame = frame.f_back
os.write(pipe.fd, pipe.nonce.encode() + b' report ' + {report!r} + b'\\n')
os._exit(0)
"""
REPORTS = {
    "of_a_number": b"5",
    "with_no_observation": b"{}",
    "with_a_number_as_observation": b'{"observation": 5, "text": ""}',
    "with_no_outcome": b'{"observation": {}, "text": ""}',
    "with_another_outcome": b'{"observation": {"outcome": "sideways"}, "text": ""}',
    "with_a_list_as_outcome": b'{"observation": {"outcome": []}, "text": ""}',
    "with_a_number_as_message": b'{"observation": {"outcome": "pass", "message": 5}, "text": ""}',
    "with_numbers_as_frames": b'{"observation": {"outcome": "pass", "frames": [5]}, "text": ""}',
    "with_endless_seconds": b'{"observation": {"outcome": "pass", "duration_s": Infinity}, "text": ""}',
    "with_a_text_as_graphs": b'{"observation": {"outcome": "pass", "graphs": "1"}, "text": ""}',
    "without_text": b'{"observation": {"outcome": "pass"}}',
    "nested_deeply": b"[" * 100_000 + b"]" * 100_000,
}
PTRACE = """
import ctypes
assert ctypes.CDLL(None).ptrace(0x4206, os.getppid(), 0, 0) == -1
"""
MOUNT = """
import ctypes
assert ctypes.CDLL(None).mount(b"none", os.path.dirname(__file__).encode(), b"tmpfs", 0, None) == -1
"""

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
    Hostile("parent_alarmed", "os.kill(os.getppid(), signal.SIGALRM); time.sleep(1)", PASS),
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

PARENT = {
    "descriptors_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (16, 16))",
    "file_size_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))",
    "data_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_DATA, (1 << 20, 1 << 20))",
    "cpu_of_the_parent": "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (3600, 3600))",
    "priority_of_the_parent": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "processors_of_the_parent": "os.sched_setaffinity(os.getppid(), {min(os.sched_getaffinity(0))})",
    "scheduler_of_the_parent": "os.sched_setscheduler(os.getppid(), os.SCHED_BATCH, os.sched_param(0))",
}
"""What a check may change of the process that forked it, and with it of every cell after it; root is refused some."""

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
    *(
        Hostile(name, f"import contextlib\nwith contextlib.suppress(PermissionError): {body}", PASS)
        for name, body in PARENT.items()
    ),
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
    Hostile("run_folder_removed", "import shutil; shutil.rmtree(os.path.abspath('../..'), ignore_errors=True)", PASS),
    Hostile("optimized", "assert not sys.flags.optimize\nassert False", {"outcome": "wrong"}),
    Hostile("fork_bomb_that_ends", "for _ in range(6): os.fork()", PASS),
    Hostile("real_time_signal", "os.kill(os.getpid(), signal.SIGRTMIN + 3)", {"outcome": "crash"}),
    Hostile("execs_another_program", "os.execv('/bin/true', ['true'])", {"outcome": "crash", "exit_status": 0}),
    Hostile("umask_changed", "os.umask(0o777)", PASS),
    Hostile("socket_left_open", "import socket; socket.socketpair(); socket.create_server(('127.0.0.1', 0))", PASS),
    *(Hostile(f"returns_{name}", body, {"outcome": "error"}) for name, body in RETURNS.items()),
    *(
        Hostile(f"report_{name}", FORGED.format(report=report), {"outcome": "crash", "exit_status": 0})
        for name, report in REPORTS.items()
    ),
    Hostile("module_that_is_a_number", "class Odd(Exception): __module__ = 5\nraise Odd('x')", {"outcome": "raise"}),
    Hostile("traces_the_supervisor", PTRACE, PASS),
    Hostile("mounts_over_the_cases", MOUNT, PASS),
    *MORE,
]  # fmt: skip
