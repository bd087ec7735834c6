"""What makes a process cheap to fork, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pt2bugs.engine.environment import HUGE_PAGES

HARNESS = Path(__file__).resolve().parent.parent / "harness"


def run(program: str, **variables: str) -> str:
    environ = {**os.environ, "PYTHONPATH": str(HARNESS), **variables}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cell_is_forked_without_handlers() -> None:
    program = """
import os
from pt2bugs.engine import linux
os.register_at_fork(after_in_child=lambda: os.write(1, b"handler "))
for fork in (os.fork, linux.fork_alone):
    if (pid := fork()) == 0:
        os.write(1, f"child of {os.getppid()} ".encode())
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), os.getpid(), flush=True)
"""
    with_it, without = run(program).splitlines()
    pid = int(with_it.split()[-1])
    assert with_it == f"handler child of {pid} 7 {pid}"
    assert without == f"child of {pid} 7 {pid}"


def test_a_fork_that_is_refused_says_so() -> None:
    program = """
import os, resource
from pt2bugs.engine import linux
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    if os.getuid() == 0:
        os.setuid(65534)
    if linux.fork_alone() == 0:
        os._exit(0)
except BlockingIOError as error:
    print(error.strerror)
"""
    assert run(program).strip() == os.strerror(11)


def test_a_thread_is_noticed() -> None:
    program = """
import threading
from pt2bugs.engine import linux
wait = threading.Event()
before = linux.has_one_thread()
thread = threading.Thread(target=wait.wait)
thread.start()
print(before, linux.has_one_thread())
wait.set()
"""
    assert run(program).split() == ["True", "False"]


@pytest.mark.parametrize("asked", [True, False])
def test_huge_pages(asked: bool) -> None:
    program = """
import mmap, re
from pt2bugs.engine import linux
memory = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
memory.write(bytes(16 << 20))
memory.madvise(mmap.MADV_HUGEPAGE)
def huge_kib():
    return int(re.search(r"AnonHugePages: +(\\d+) kB", linux.read_proc("/proc/self/smaps_rollup"))[1])
before = huge_kib()
linux.use_huge_pages()
print(huge_kib() - before)
"""
    gained = int(run(program, GLIBC_TUNABLES=HUGE_PAGES if asked else ""))
    if not asked:
        assert gained == 0
    elif gained == 0:
        pytest.skip("this system collapses no memory into huge pages")
    else:
        assert gained >= 8 << 10
