"""What processes that share an environment remember of it: nothing is lost, and nobody waits for long."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from pt2bugs.engine import warm_cache as module
from pt2bugs.engine.warm_cache import WarmCache

HARNESS = Path(__file__).parent.parent / "harness"
SAVE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from pt2bugs.engine import warm_cache as module
from pt2bugs.engine.warm_cache import WarmCache
module.LOCK_S = 60
folder, name = Path(sys.argv[2]), sys.argv[3]
cache = WarmCache(folder)
print("read", flush=True)
sys.stdin.readline()
cache.save({"isa_builds": [name]})
for number in range(30):
    WarmCache(folder).save({"needs": {f"{name} {number}": {"modules": [name]}}})
"""


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SAVE, str(HARNESS), str(tmp_path)]
    both = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "ab"
    ]
    # Each has read the file before the other writes it.
    assert [_pipe(process.stdout).readline() for process in both] == ["read\n"] * 2
    for process in both:
        _pipe(process.stdin).write("go\n")
        _pipe(process.stdin).flush()
    for process in both:
        process.communicate()
        assert process.returncode == 0
    known = WarmCache(tmp_path).stored
    assert known["isa_builds"] == ["a", "b"]
    assert set(known["needs"]) == {f"{name} {number}" for name in "ab" for number in range(30)}


def _pipe(end: IO[str] | None) -> IO[str]:
    assert end is not None
    return end


def test_a_lock_that_is_never_released_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCK_S", 0.1)
    cache = WarmCache(tmp_path)
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        cache.save({"vec_isa_ok": True})
    assert cache.stored["vec_isa_ok"]
    assert "vec_isa_ok" not in WarmCache(tmp_path).stored


@pytest.mark.parametrize("text", ["", "[]", '{"needs": 5}', '{"needs": {"cpu eager": []}}', '{"isa_builds": [[]]}'])
def test_a_file_that_is_no_warm_cache_is_written_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "memory.json"
    file.write_text(text, encoding="latin-1")
    warnings: list[str] = []
    WarmCache(tmp_path, warnings.append).save({"isa_builds": ["a"]})
    assert warnings == [f"{file}: is spoilt; what it held is found out again"]
    assert json.loads(file.read_text())["isa_builds"] == ["a"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "memory.json")
    warnings: list[str] = []
    WarmCache(tmp_path, warnings.append).save({"isa_builds": ["a"]})
    assert len(warnings) == 1
    assert WarmCache(tmp_path, warnings.append).stored["isa_builds"] == ["a"]
    assert len(warnings) == 1
