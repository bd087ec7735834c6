"""Hostile checks on the real torch, below what it compiles: each is classified right and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hostile import PASS, TIMEOUT, crash
from suite import Done, Suite

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

def test_f_breaks_that_were_cleared():
    def program(x):
        x = x.sin()
        torch._dynamo.graph_break()
        x = x.cos()
        if x.sum() > 0:
            x = x + 1
        return x.sin()
    torch.compile(program, backend="eager")(torch.ones(3))
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
"""

INDUCTOR = """
import torch

def test_kernels():
    def program(x):
        return torch.cdist(x.sin(), x) * 2
    torch.compile(program)(torch.ones(3, 3))
    torch._inductor.metrics.reset()
    torch._inductor.metrics.generated_kernel_count = 0

def test_metrics_that_were_replaced():
    torch.compile(lambda x: x + 1)(torch.ones(3))
    torch._dynamo.output_graph.graph_break_reasons = []
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


SOURCES = {"real": REAL, "hang": HANG, "counts": INDUCTOR}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Done:
    suite = Suite(tmp_path_factory.mktemp("real"), real_torch=True)
    suite.case("real", REAL, backends=["eager"], memory=1024)
    suite.case("hang", HANG, backends=["eager"], timeout=4)
    suite.case("counts", INDUCTOR)
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
        ("test_e_eager_only", {"outcome": "error", "graphs": 0, "breaks": 0}),
        ("test_f_breaks_that_were_cleared", {**PASS, "graphs": 3, "breaks": 2, "kernels": 0, "fallbacks": 0}),
        ("test_kernels", {**PASS, "graphs": 1, "breaks": 0, "kernels": 2, "fallbacks": 1}),
        ("test_metrics_that_were_replaced", {**PASS, "graphs": 1, "breaks": None, "kernels": 1}),
    ],
)
def test_on_the_real_torch(real: Done, check: str, seen: dict[str, Any]) -> None:
    case = {
        "test_hang_that_holds_the_lock": "hang",
        "test_kernels": "counts",
        "test_metrics_that_were_replaced": "counts",
    }
    record = real.record(case.get(check, "real"), check)
    assert {key: record[key] for key in seen} == seen, record
