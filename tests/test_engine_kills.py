"""Processes are killed from outside, file systems fill up, the user is not root: no false verdict, nothing stays."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pt2bugs
import pytest
from hostile import MODES, SECRETS, write_hostile
from hostile_checks import HOSTILE
from suite import Done, Suite, children, wait_until

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
        self.process = suite.start(
            "--jobs", "1", SUITE_FOLDER=str(suite.folder), PT2BUGS_WRITE=str(suite.folder), **env
        )
        wait_until(self.mark.exists)
        self.pytest = self.process.pid
        (self.guardian,) = children(self.pytest)
        (below,) = children(self.guardian)
        # In a namespace process 1 stands between the two.
        self.zygote = below if env else children(below)[0]
        (self.supervisor,) = children(self.zygote)
        (self.cell,) = children(self.supervisor)

    def ends(self) -> Done:
        done = self.suite.finish(self.process)
        wait_until(lambda: not self.suite.processes(), 20)
        return done


@pytest.fixture(params=MODES)
def env(request: pytest.FixtureRequest) -> dict[str, str]:
    return MODES[request.param]


class TestKilledFromOutside:
    @pytest.mark.parametrize("victim", ["cell", "supervisor", "zygote", "guardian"])
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
        assert (
            suite.run("--jobs", "1", SUITE_FOLDER=str(suite.folder), PT2BUGS_WRITE=str(suite.folder), **env).status == 0
        )

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
        (again,) = children(tree.supervisor)
        os.kill(again, signal.SIGKILL)
        done = tree.ends()
        assert done.record("waits", "test_b")["outcome"] == "crash"
        assert done.record("waits", "test_b")["signal"] == "SIGKILL"

    def test_supervisor_that_is_killed_twice(self, suite: Suite) -> None:
        """In a namespace no check can do that: it is never the bug."""
        tree = Tree(suite)
        tree.mark.unlink()
        os.kill(tree.supervisor, signal.SIGKILL)
        wait_until(tree.mark.exists)
        (again,) = children(tree.zygote)
        os.kill(again, signal.SIGKILL)
        done = tree.ends()
        assert done.record("waits", "test_b")["outcome"] == "error"
        assert done.record("waits", "test_c")["outcome"] == "pass"


def _can(command: list[str]) -> bool:
    return shutil.which(command[0]) is not None and subprocess.run([*command, "true"], check=False).returncode == 0


@pytest.mark.skipif(not _can(["unshare", "--mount"]), reason="a file system of its own takes root")
class TestFullTemporaryFolder:
    """That of the machine, where cells have no disk of their own."""

    def start(self, suite: Suite, size: str) -> Done:
        mount = f"mount -t tmpfs -o {size} none {suite.temporary}"
        command = ["unshare", "--mount", "sh", "-c", f'{mount}; exec "$@"', "sh", *suite.command()]
        done = subprocess.run(
            command, cwd=suite.folder, env=suite.environ(**MODES["fallback"]),
            capture_output=True, text=True, check=False,
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


BECOME = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
"""Run as the user nobody."""
PACKAGES = os.pathsep.join([sysconfig.get_path("purelib"), str(Path(pt2bugs.__file__).parent.parent)])


def _python_for_nobody() -> str | None:
    """A Python that the user nobody may start, also from another one; ours may stand in a closed home."""
    script = "import subprocess, sys, pt2bugs.plugin; sys.exit(subprocess.call([sys.executable, '-c', '']))"
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, shutil.which(f"python{minor}", path="/usr/bin:/usr/local/bin")):
        if python is not None:
            command = [*BECOME, python, "-c", script]
            environ = {"PYTHONPATH": PACKAGES, "PATH": os.environ["PATH"]}
            if subprocess.run(command, check=False, cwd="/", env=environ, stderr=subprocess.DEVNULL).returncode == 0:
                return python
    return None


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="becoming another user takes root")
def test_without_root(env: dict[str, str]) -> None:
    """An ordinary user gets a namespace too, where the system lets them."""
    python = _python_for_nobody()
    if python is None:
        pytest.skip("no Python here can be used by another user")
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(Path(folder))
        for name in ("null_read", "parent_killed", "child_in_its_own_session", "memory", "environment_cleared"):
            write_hostile(suite, next(hostile for hostile in HOSTILE if hostile.name == name))
        for path in (suite.folder, *suite.folder.iterdir()):
            shutil.chown(path, 65534, 65534)
        run_as([*BECOME, python, *suite.command()[1:]], suite, env)


def run_as(command: list[str], suite: Suite, env: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=suite.folder,
        env=suite.environ(**env, **SECRETS, PYTHONPATH=f"{suite.torch}{os.pathsep}{PACKAGES}"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    outcomes = Done(done.returncode, done.stdout + done.stderr, suite.records()).outcomes()
    assert "error" not in outcomes.values(), done.stdout + done.stderr
    assert outcomes.pop("parent_killed::test_hostile") in ("pass", "crash")
    assert outcomes.pop("null_read::test_hostile") == "crash", done.stdout
    assert outcomes.pop("memory::test_hostile") == "oom"
    assert set(outcomes.values()) == {"pass"}, outcomes
    assert suite.survivors() == []
    assert list(suite.temporary.iterdir()) == []


_JUMPING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    static long reads;
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += (++reads % 3 - 1) * 86400;
    return status;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the clock is replaced by a library in C")
def test_a_clock_that_jumps(suite: Suite) -> None:
    """Each look at the time of day is a day off. Durations and timeouts are of another clock."""
    (suite.folder / "jump.c").write_text(_JUMPING)
    library = suite.folder / "jump.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, suite.folder / "jump.c", "-ldl"], check=True)
    body = "import time\ndef test_a(): time.sleep(0.3)\ndef test_b(): time.sleep(60)\ndef test_c(): time.sleep(0.3)\n"
    suite.case("clock", body, compiles=False, timeout=1)
    done = suite.run("--jobs", "1", LD_PRELOAD=str(library))
    assert done.outcomes() == {"clock::test_a": "pass", "clock::test_b": "timeout", "clock::test_c": "pass"}
    assert all(0.2 < record["duration_s"] < 30 for record in done.records)
    assert len({record["started"][:10] for record in done.records}) > 1, "the clock did jump"


def test_line_breaks_in_every_path(tmp_path: Path) -> None:
    folder = tmp_path / "line\nbreak"
    folder.mkdir()
    suite = Suite(folder)
    suite.case("fine", "def test_a(): pass\ndef test_b(): assert False, __file__\n", compiles=False)
    done = suite.run("--jobs", "1")
    assert done.outcomes() == {"fine::test_a": "pass", "fine::test_b": "wrong"}
    assert list(suite.temporary.iterdir()) == []


@pytest.mark.skipif(not _can(["unshare", "--mount"]), reason="a mount of its own takes root")
def test_no_shared_memory(suite: Suite) -> None:
    suite.case("fine", "def test_a(): pass\n", compiles=False)
    command = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        'mount -t tmpfs -o ro none /dev/shm; exec "$@"',
        "sh",
        *suite.command(),
    ]
    subprocess.run(command, cwd=suite.folder, env=suite.environ(), capture_output=True, check=True)
    assert suite.records()[0]["outcome"] == "pass"
    assert "unconfined" not in suite.records()[0]
