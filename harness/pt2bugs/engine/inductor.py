"""What Inductor finds out once in every process. It is asked before the fork, so that no cell has to find it out again.

None of it is a compiled kernel, or depends on what a cell does.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from pt2bugs.engine.memory import Memory, cpu_flags

_KERNEL_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
_KERNELS = ("", "at::vec::")
"""Texts of kernels, without vector instructions and with them: from torch 2.13 on each has compiler options of its own.
They are never compiled."""


def warm_up(memory: Memory, *, compiles_kernels: bool) -> None:
    """Have Inductor find out what every compile asks for; it keeps the answers in this process and its children.

    Args:
        compiles_kernels: of a CPU. They need precompiled headers.
    """
    probes: list[Callable[[], None]] = [lambda: _probe_vector_isa(memory), _hash_sources]
    for probe in [*probes, _check_headers] if compiles_kernels else probes:
        # Not every release has each of them. A compiler that does not work shows in the canary.
        with contextlib.suppress(Exception):
            probe()
    # How long it took would stand in the table of times that a program can ask Dynamo for.
    times = getattr(sys.modules.get("torch._dynamo.utils"), "compilation_time_metrics", None)
    if times is not None:
        times.clear()


def _hash_sources() -> None:
    """Hash Inductor's own sources, which is part of the key of its caches: 0.25 s of a cell."""
    codecache: Any = importlib.import_module("torch._inductor.codecache")
    codecache.torch_key()


def _check_headers() -> None:
    """Check that the precompiled headers are up to date, or make them. g++ preprocesses them for it: 0.3 s of a cell.

    `load_pybinding_async` does that, and returns a function that compiles the kernel. Nobody calls it.
    """
    codecache: Any = importlib.import_module("torch._inductor.codecache")
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get(_KERNEL_FOLDER)
        os.environ[_KERNEL_FOLDER] = folder
        try:
            for source in _KERNELS:
                codecache.CppPythonBindingsCodeCache.load_pybinding_async([], source)
        finally:
            if before is None:
                del os.environ[_KERNEL_FOLDER]
            else:
                os.environ[_KERNEL_FOLDER] = before


def _probe_vector_isa(memory: Memory) -> None:
    """Have Inductor find the vector ISA of this CPU; it keeps the answer in this process and its children.

    It compiles and loads a library per ISA, each load in a Python of its own that imports torch. What worked
    once in this environment, on this CPU and with this compiler is remembered; what did not is tried again.
    """
    try:
        isa: Any = importlib.import_module("torch._inductor.cpu_vec_isa")
    except ImportError:  # before torch 2.5
        isa = importlib.import_module("torch._inductor.codecache")
    if hasattr(isa.VecISA, "check_build"):
        worked = _remember_builds(isa, set(memory.stored.get("isa_builds", ())))
        memory.save(isa_builds=sorted(worked))
        return
    # Before torch 2.5 a probe cannot be told from its result; there is only a setting that takes it for granted.
    config: Any = importlib.import_module("torch._inductor.config")
    setting = config.cpp.vec_isa_ok
    config.cpp.vec_isa_ok = memory.stored.get("vec_isa_ok") or setting
    try:
        accepted = {str(one) for one in isa.valid_vec_isa_list()}
    finally:
        config.cpp.vec_isa_ok = setting
    flags = set(cpu_flags().split())
    if {str(one) for one in isa.supported_vec_isa_list if str(one) in flags} == accepted:
        memory.save(vec_isa_ok=True)


def _remember_builds(isa: Any, worked: set[str]) -> set[str]:
    """Probe with those builds skipped that are known to work; returns all that work."""
    original = isa.VecISA.check_build

    def check_build(self: Any, code: str) -> bool:
        key = hashlib.sha256(f"{self.build_arch_flags()}\0{code}".encode()).hexdigest()[:16]
        if key not in worked and original(self, code):
            worked.add(key)
        return key in worked

    isa.VecISA.check_build = check_build
    try:
        isa.valid_vec_isa_list()
        isa.pick_vec_isa()
    finally:
        isa.VecISA.check_build = original
    return worked


def forget_kernel_folder() -> None:
    """Have Inductor ask again where kernels go: up to torch 2.3 it keeps the first answer.

    That is a folder which all cells of all runs share. One kernel that a killed cell left half written there failed
    every later cell that wanted the same one.
    """
    for name in sorted(sys.modules):
        if name.startswith("torch._inductor."):
            forget = getattr(vars(sys.modules[name]).get("cache_dir"), "cache_clear", None)
            if forget is not None:
                forget()
