"""A hostile check, how it is written and run, and those that attack descriptors, limits, hooks and processes.

``hostile_checks.py`` has the others, and all in one list.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

from suite import Suite


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


def raises(error_type: str) -> dict[str, Any]:
    return {"outcome": "raise", "error_type": error_type}


PASS = {"outcome": "pass", "signal": "", "exit_status": 0}
WRONG = {"outcome": "wrong"}
TIMEOUT = {"outcome": "timeout"}
SHORT = {"timeout": 0.5}
SMALL = {"memory": 256}

DESCRIPTORS = [
    Hostile(
        "descriptors_taken_over",
        """
        os.closerange(3, 4096)
        for n in range(64): os.open('f', os.O_RDWR | os.O_CREAT)
        """,
        {"outcome": "crash", "exit_status": 0},
    ),
    Hostile(
        "descriptors_flooded",
        """
        for fd in range(3, 64):
            try:
                for _ in range(100): os.write(fd, b'x' * 65536)
            except OSError: pass
        assert False, 'the true end'
        """,
        {"outcome": "wrong", "message": "the true end"},
    ),
    Hostile(
        "child_floods_the_descriptors",
        """
        if os.fork() == 0:
            while True:
                for fd in range(3, 64):
                    try: os.write(fd, b'x' * 65536)
                    except OSError: pass
        time.sleep(0.2)
        """,
        PASS,
    ),
    Hostile(
        "descriptors_not_blocking",
        """
        for fd in range(64):
            try: os.set_blocking(fd, False)
            except OSError: pass
        raise RuntimeError('\\x1b' * 60_000)
        """,
        raises("RuntimeError"),
    ),
    Hostile(
        "tiny_pipes",
        """
        import fcntl
        for fd in range(3, 64):
            try: fcntl.fcntl(fd, 1031, 4096)
            except OSError: pass
        raise RuntimeError('x' * 60_000)
        """,
        raises("RuntimeError"),
    ),
    Hostile("output_is_a_folder", "os.unlink('../output'); os.mkdir('../output')", PASS),
    Hostile("output_of_zeros", "os.ftruncate(1, 1 << 29)", PASS),
    Hostile("output_moved", "os.rename('../output', 'mine')", PASS),
    Hostile("folder_moved", "os.rename(os.path.dirname(os.getcwd()), '../../moved')", PASS),
    Hostile(
        "odd_file_names", "for name in (b'\\n', b'\\xff\\x1b[31m', b'-rf', b' ', b'a' * 255): open(name, 'w')", PASS
    ),
    Hostile("links_everywhere", "os.symlink('/', 'root'); os.symlink('.', 'loop'); os.link('../output', 'hard')", PASS),
    Hostile("changed_root", "try: os.chroot('.')\nexcept OSError: pass", PASS),
]

LIMITS = [
    Hostile("no_descriptors", "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))", PASS),
    Hostile("no_descriptors_and_wrong", "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\nassert False", WRONG),
    Hostile("no_address_space", "resource.setrlimit(resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))", PASS),
    Hostile(
        "no_address_space_and_wrong",
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))\nassert False, 'x' * 50_000",
        WRONG,
    ),
    Hostile("no_file_size", "print('x' * 100_000)\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))", PASS),
    Hostile("no_stack", "resource.setrlimit(resource.RLIMIT_STACK, (65536, 65536))", PASS),
    Hostile("other_user", "try: os.setresgid(1, 1, 1); os.setresuid(1, 1, 1)\nexcept PermissionError: pass", PASS),
    Hostile("not_dumpable", "import ctypes; ctypes.CDLL(None).prctl(4, 0)", PASS),
    Hostile("named_oddly", "open('/proc/self/comm', 'w').write('a) R 1 1\\n')", PASS),
    Hostile("many_threads", "for _ in range(30): threading.Thread(target=time.sleep, args=(3600,)).start()", PASS),
]

SIGNALS = [
    Hostile("profiling_timer", "signal.setitimer(signal.ITIMER_PROF, 1e-6, 1e-6)", PASS),
    Hostile("virtual_timer", "signal.setitimer(signal.ITIMER_VIRTUAL, 1e-6, 1e-6)", PASS),
    Hostile(
        "alarm_taken_over",
        """
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
        """,
        PASS,
    ),
    Hostile(
        "wakeup_descriptor",
        """
        os.dup2(1, 50)
        os.set_blocking(50, False)
        signal.set_wakeup_fd(50, warn_on_full_buffer=False)
        """,
        PASS,
    ),
    Hostile(
        "traced_by_its_parent",
        "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGUSR1)",
        TIMEOUT,
        settings=SHORT,
    ),
    Hostile(
        "group_of_the_parent_killed",
        "os.killpg(os.getpgid(os.getppid()), signal.SIGKILL); time.sleep(1)",
        {"outcome": "crash"},
    ),
    Hostile(
        "thread_holds_the_lock",
        "import ctypes; threading.Thread(target=lambda: ctypes.PyDLL(None).sleep(3600)).start(); time.sleep(0.1)",
        TIMEOUT,
        settings=SHORT,
    ),
    Hostile(
        "runs_ahead",
        """
        if os.fork() == 0:
            end = time.monotonic() + 1
            while time.monotonic() < end:
                if os.fork(): os._exit(0)
            os._exit(0)
        """,
        PASS,
    ),
    Hostile(
        "namespace_of_its_own",
        """
        program = "setsid sleep 3600 & setsid sleep 3600 &"
        subprocess.run(["unshare", "--user", "--pid", "--fork", "sh", "-c", program])
        """,
        PASS,
    ),
]

HOOKS = {
    "audit": "sys.addaudithook(lambda *_: 1 / 0)",
    "audit_that_exits": "sys.addaudithook(lambda *_: sys.exit(3))",
    "finder": "sys.meta_path.insert(0, type('F', (), {'find_spec': lambda *_: 1 / 0})())",
    "no_imports": "sys.meta_path.clear(); sys.path_hooks.clear(); sys.path.clear()",
    "codec": """
        import codecs
        codecs.register_error("backslashreplace", lambda *_: 1 / 0)
        codecs.register_error("surrogateescape", lambda *_: 1 / 0)
        """,
    "warnings": "import warnings; warnings.simplefilter('error'); warnings.showwarning = warnings.warn = None",
    "switch_interval": "sys.setswitchinterval(1e6)",
    "digits": "sys.set_int_max_str_digits(0)",
    "loader": """
        globals()["__loader__"] = type("L", (), {"get_source": lambda *_: sys.exit(1)})()
        globals()["__spec__"] = 5
        """,
    "file_of_the_module": "globals()['__file__'] = None; globals()['__name__'] = 5",
    "collected_garbage": """
        import gc
        class A:
            def __del__(self): sys.exit(3)
        a = A()
        a.a = a
        del a
        gc.set_threshold(1, 1, 1)
        """,
    "trace_of_all_threads": "threading.settrace(lambda *_: 1 / 0); threading.setprofile(lambda *_: 1 / 0)",
    "frame_trace": "f = sys._getframe()\nwhile f: f.f_trace = lambda *_: 1 / 0; f = f.f_back",
    "encoding_of_output": "sys.stdout.reconfigure(encoding='ascii', errors='strict'); sys.stdout.write('a')",
    "output_detached": "sys.stdout.detach()",
    "more_builtins": """
        import builtins
        builtins.float = builtins.max = builtins.getattr = builtins.BaseException = None
        """,
    "locale": """
        import locale
        locale.setlocale(locale.LC_ALL, "C")
        os.environ["LC_ALL"] = os.environ["TZ"] = "x"
        time.tzset()
        """,
    "path_functions": "os.path.basename = os.path.join = os.fspath = os.getcwd = os.stat = None",
    "signal_module": "for n in dir(signal):\n    if n.islower(): setattr(signal, n, None)",
    "faulthandler_exit": "import faulthandler; faulthandler.dump_traceback_later(5, exit=True)",
    "engine_modules": "for n in [n for n in sys.modules if n.startswith('pt2bugs')]: del sys.modules[n]",
}
"""What a check may leave switched on or gone in its interpreter."""

RAISED: dict[str, tuple[str, dict[str, Any]]] = {
    "exit_with_a_text": ("sys.exit('text')", {**raises("SystemExit"), "message": "text"}),
    "long_chain": (
        """
        e = None
        for n in range(50_000):
            new = RuntimeError(n)
            new.__context__ = e
            e = new
        raise e
        """,
        raises("RuntimeError"),
    ),
    "deep_groups": (
        "e = ValueError(1)\nfor n in range(900): e = ExceptionGroup('g', [e])\nraise e",
        {"outcome": "raise"},
    ),
    "wide_group": ("raise ExceptionGroup('g' * 100, [ValueError('x' * 1000)] * 20_000)", {"outcome": "raise"}),
    "odd_notes": ("e = RuntimeError('a'); e.__notes__ = 5\nraise e", raises("RuntimeError")),
    "large_notes": ("e = RuntimeError('a'); e.__notes__ = ['\\x1b' * 5_000_000]\nraise e", raises("RuntimeError")),
    "deep_traceback": (
        """
        sys.setrecursionlimit(200_000)
        def f(n): return f(n - 1) if n else 1 / 0
        f(20_000)
        """,
        raises("ZeroDivisionError"),
    ),
    "odd_syntax_error": ("raise SyntaxError('x', (5, 'one', -3, {}, 'a', ()))", raises("SyntaxError")),
    "odd_file_of_a_frame": (
        r"""
        path = "/x/torch/\x1b[31m\n" + "a" * 1_000_000
        exec(compile("def f(): 1 / 0\nf()", path, "exec"))
        """,
        raises("ZeroDivisionError"),
    ),
    "odd_name_of_a_frame": (
        r"""
        code = compile("1 / 0", "/x/torch/a.py", "exec")
        exec(code.replace(co_name="\x1b\n\udc80" * 100_000))
        """,
        raises("ZeroDivisionError"),
    ),
    "str_that_leaves": (
        "raise type('E', (Exception,), {'__str__': lambda self: os._exit(0)})()",
        {"outcome": "crash", "exit_status": 0},
    ),
    "str_that_forks": (
        "raise type('E', (Exception,), {'__str__': lambda self: str(os.fork())})()",
        {"outcome": "raise"},
    ),
    "huge_number": ("raise RuntimeError(10 ** 6_000)", raises("RuntimeError")),
    "stop_iteration": ("raise StopIteration", raises("StopIteration")),
    "suggestion": (
        """
        class A:
            def __dir__(self): raise SystemExit(3)
        raise AttributeError("a", name="b", obj=A())
        """,
        raises("AttributeError"),
    ),
    "decode_error": (r"b'\xff\x1b'.decode()", raises("UnicodeDecodeError")),
    "named_like_our_timeout": (
        "raise type('CheckTimeout', (BaseException,), {'__module__': 'pt2bugs.engine.observe'})()",
        {"outcome": "raise"},
    ),
    "printed_without_a_space": (
        "print('x' * 60_000 + '/a.py')\nraise RuntimeError('y' * 60_000 + '/a.py')",
        raises("RuntimeError"),
    ),
}
"""What a check may raise."""

MORE = [
    *DESCRIPTORS,
    *LIMITS,
    *SIGNALS,
    *(Hostile(f"hook_{name}", body, PASS) for name, body in HOOKS.items()),
    *(
        Hostile(f"hook_{name}_and_wrong", f"{textwrap.dedent(body)}\nassert False, 'the true end'", WRONG)
        for name, body in HOOKS.items()
        if not name.startswith("audit")
    ),
    # Nobody may look at a frame where such a hook forbids it, so it cannot be told whose assertion it was.
    *(
        Hostile(f"hook_{name}_and_wrong", f"{HOOKS[name]}\nassert False, 'the true end'", raises("AssertionError"))
        for name in ("audit", "audit_that_exits")
    ),
    *(Hostile(f"raised_{name}", body, seen) for name, (body, seen) in RAISED.items()),
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
    assert callable(signal.getsignal(signal.SIGALRM))
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
