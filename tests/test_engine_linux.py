"""What is asked of Linux, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HARNESS = Path(__file__).resolve().parent.parent / "harness"


def run(program: str, folder: Path | None = None) -> str:
    environ = {**os.environ, "PYTHONPATH": str(HARNESS)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_process_without_privileges_regains_none() -> None:
    program = """
import subprocess, sys
from pt2bugs.engine import linux
linux.drop_privileges()
status = "import re; print(*re.findall('(?:CapEff|CapPrm|NoNewPrivs):\\t(.*)', open('/proc/self/status').read()))"
exec(status)
subprocess.run([sys.executable, "-c", status])
"""
    own, childs = (line.split() for line in run(program).splitlines())
    assert int(own[0], 16) in (0, 1 << 2)
    assert own == childs
    assert own[2] == "1"


def test_mounts_are_part_of_the_state(tmp_path: Path) -> None:
    program = """
import ctypes, os, sys
from pt2bugs.engine import linux
if not linux.enter_namespace() or not linux.mount_own_proc():
    sys.exit(print("no namespace"))
if os.fork() == 0:
    linux.mount_own_proc()
    state = linux.ProcessState.now()
    before = state.restore()
    os.mkdir("mounted")
    done = ctypes.CDLL(None).mount(b"none", b"mounted", b"tmpfs", 0, None)
    print(before, done, state.restore(), flush=True)
    os._exit(0)
os.wait()
"""
    assert run(program, tmp_path).strip() in ("True 0 False", "no namespace")
