"""The variables of a cell: nothing of the user's that changes what a compiler does."""

from __future__ import annotations

import os
import sys

import pytest
from pt2bugs.engine.environment import HUGE_PAGES, cell_environment
from suite import Suite

SHOWS = """
import json, os
def test_a():
    raise RuntimeError(json.dumps({k: v for k, v in os.environ.items() if k.startswith(("TORCH", "TRITON", "PYTHON"))}))
"""


def test_what_is_kept_and_what_is_removed() -> None:
    environ = {
        "PATH": "/bin",
        "VIRTUAL_ENV": "/venv",
        "TORCH_COMPILE_DISABLE": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "TORCHINDUCTOR_FREEZING": "1",
        "PYTORCH_JIT": "0",
        "TRITON_INTERPRET": "1",
        "PYTHONOPTIMIZE": "2",
        "PYTHONPATH": "/mine",
        "HF_TOKEN": "secret",
        "SOME_INDEX": "https://someone:secret@example.org",
        "CUDA_VISIBLE_DEVICES": "0",
        "ATEN_CPU_CAPABILITY": "avx2",
    }
    kept, removed = cell_environment(environ, threads=3, keeps_python_path=False, extra={"TORCH_LOGS": "graph_breaks"})
    assert removed == (
        "ATEN_CPU_CAPABILITY", "PYTHONOPTIMIZE", "PYTHONPATH", "PYTORCH_JIT", "TORCHDYNAMO_DISABLE",
        "TORCHINDUCTOR_FREEZING", "TORCH_COMPILE_DISABLE", "TRITON_INTERPRET",
    )  # fmt: skip
    assert kept == {
        "PATH": "/bin",
        "CUDA_VISIBLE_DEVICES": "0",
        "OMP_NUM_THREADS": "3",
        "MKL_NUM_THREADS": "3",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "GLIBC_TUNABLES": HUGE_PAGES,
        "TORCH_LOGS": "graph_breaks",
    }
    assert "PYTHONPATH" in cell_environment(environ, threads=1, keeps_python_path=True, extra={})[0]


@pytest.mark.parametrize("isolation", ["fork", "spawn"])
def test_of_a_real_cell(suite: Suite, isolation: str) -> None:
    suite.case("a", SHOWS, compiles=False, isolation=isolation, env={"TORCH_MINE": "1"} if isolation == "spawn" else {})
    done = suite.run(TORCH_COMPILE_DISABLE="1", PYTHONOPTIMIZE="1", TORCHDYNAMO_VERBOSE="1")
    seen = done.record("a")["message"]
    assert "TORCH_COMPILE_DISABLE" not in seen
    assert "OPTIMIZE" not in seen
    assert "VERBOSE" not in seen
    assert ("TORCH_MINE" in seen) is (isolation == "spawn")
    told = [line for line in done.output.splitlines() if line.startswith("kept from the cells")]
    assert len(told) == 1
    assert "PYTHONOPTIMIZE" in told[0]
    assert "TORCH_COMPILE_DISABLE" in told[0]


def test_assertions_hold_under_optimization(suite: Suite) -> None:
    suite.case("a", "def test_a():\n    assert False, 'it holds'\n", compiles=False)
    done = suite.run(PYTHONOPTIMIZE="2")
    assert done.outcomes() == {"a::test_a": "wrong"}
    command = [sys.executable, "-O", *suite.command()[1:]]
    suite.journal.unlink()
    assert os.spawnve(os.P_WAIT, sys.executable, command, suite.environ()) == 1
    assert suite.records()[0]["outcome"] == "wrong"


def test_kernels_of_a_cell_stay_in_its_folder(suite: Suite) -> None:
    program = """
    import os
    def test_a(backend):
        from torch._inductor.codecache import cache_dir
        assert cache_dir() == os.environ["TORCHINDUCTOR_CACHE_DIR"], cache_dir()
    """
    suite.case("a", program, compiles=False, backends=["inductor"])
    assert suite.run("--backend", "inductor").outcomes() == {"a::test_a": "pass"}
    assert list(suite.home.glob("cache/warm/*/torchinductor"))
