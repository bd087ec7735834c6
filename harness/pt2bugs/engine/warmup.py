"""Prepares what every cell would repeat: imports and the vector-ISA probe. Must stay safe to fork.

Runs in the zygote: no parallel operator, no accelerator, no compiled kernel.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from pt2bugs.collector import collector_paused
from pt2bugs.engine.environment import CAPABILITY_VARIABLE
from pt2bugs.engine.folders import cache_home
from pt2bugs.files import FileError, write_text

_MODULES = (
    "torch._dynamo",
    "torch._functorch.aot_autograd",
    "torch._inductor.compile_fx",
    "torch._inductor.codegen.cpp",
    "torch.export",
    "torch.fx.experimental.proxy_tensor",
    "torch.testing",
)
_WITHOUT_KERNELS = frozenset({"eager", "aot_eager", "aot_eager_decomp_partition"})
"""Backends that compile nothing for a CPU. Of any other, Inductor may be a part, as it is of ipex."""
Needs = dict[str, list[str]]
"""What a compile was seen to need: the ``modules`` it imported."""


def prepare(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Import torch and the compiler, and say what was imported.

    Args:
        settings: `threads` of every child; `targets`, the devices and backends in use, as for those that compile
            kernels the vector ISA must be known; `imports`, modules that register a backend; `distributions`, names
            whose versions are asked.
        folder: of the run, to keep things in should the cache not be writable.

    Returns:
        Facts about the environment: `memory` is the folder of what it remembers, `known_targets` are those of which it
        remembers what a compile needs, `paths` are folders that must not show in results.

    Raises:
        Exception: whatever the import of torch raises; the environment is then broken.
    """
    threads: int = settings["threads"]
    memory = _Memory.of_this_environment(folder)
    # Inductor keeps precompiled headers and the ISA probe's library under the temporary folder it finds at
    # import, and kernels under TORCHINDUCTOR_CACHE_DIR, which every cell has of its own.
    os.environ["TMPDIR"] = str(memory.folder)
    tempfile.tempdir = None
    with collector_paused():
        import torch

        _import_all(_MODULES)
    torch.set_num_threads(threads)
    for name in settings.get("imports", ()):
        importlib.import_module(name)
    targets = [tuple(target) for target in settings["targets"]]
    if any(backend not in _WITHOUT_KERNELS for _, backend in targets):
        with contextlib.suppress(Exception):
            _probe_vector_isa(memory)
    forget_kernel_folder()
    remembered: dict[str, Needs] = memory.known.get("needs", {})
    known = [name for name in (_target(*one) for one in targets) if name in remembered]
    for name in known:
        provide(remembered[name])
    return {
        "torch": str(torch.__version__),
        "torch_git": torch.version.git_version or "",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_capability": _cpu_capability(torch),
        "device_name": cpu_name(),
        "memory": str(memory.folder),
        "known_targets": known,
        "paths": interpreter_paths(),
        "distributions": dict(_versions(settings.get("distributions", ()))),
    }


def interpreter_paths() -> dict[str, str]:
    """Folders of this interpreter, and the word that stands for each in results; empty: it is left out."""
    packages = {sysconfig.get_path(name): "" for name in ("purelib", "platlib", "stdlib")}
    return {f"{path}/": word for path, word in packages.items() if path} | {
        str(cache_home()): "<cache>",
        sys.prefix: "<env>",
        sys.base_prefix: "<python>",
    }


def _versions(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)


def provide(needs: Needs) -> None:
    """Import the modules in this process, for its children to have them."""
    with collector_paused():
        _import_all(needs.get("modules", ()))


def _import_all(modules: Iterable[str]) -> None:
    for name in modules:
        # Not every release has every module, and some are importable only in the state they were met in. A compiler
        # that does not import shows in the canary.
        with contextlib.suppress(BaseException):
            importlib.import_module(name)


def _target(device: str, backend: str) -> str:
    return f"{device} {backend}"


def is_known(facts: Mapping[str, Any], device: str, backend: str) -> bool:
    """Whether `prepare` has provided what a compile there needs."""
    return _target(device, backend) in facts["known_targets"]


def remember(facts: Mapping[str, Any], device: str, backend: str, needs: Needs) -> None:
    """Have `prepare` provide these the next time."""
    memory = _Memory(Path(facts["memory"]))
    memory.keep(needs={**memory.known.get("needs", {}), _target(device, backend): needs})


def _cpu_capability(torch: Any) -> str:
    try:
        return str(torch.backends.cpu.get_cpu_capability())
    except AttributeError:  # before torch 2.1
        found = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
        return found[1] if found else ""


def cpu_name() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _probe_vector_isa(memory: _Memory) -> None:
    """Have Inductor find the vector ISA of this CPU; it keeps the answer in this process and its children.

    It compiles and loads a library per ISA, each load in a Python of its own that imports torch. What worked
    once in this environment, on this CPU and with this compiler is remembered; what did not is tried again.
    """
    try:
        isa: Any = importlib.import_module("torch._inductor.cpu_vec_isa")
    except ImportError:  # before torch 2.5
        isa = importlib.import_module("torch._inductor.codecache")
    if hasattr(isa.VecISA, "check_build"):
        worked = _remember_builds(isa, set(memory.known.get("isa_builds", ())))
        memory.keep(isa_builds=sorted(worked))
        return
    # Before torch 2.5 a probe cannot be told from its result; there is only a setting that takes it for granted.
    config: Any = importlib.import_module("torch._inductor.config")
    setting = config.cpp.vec_isa_ok
    config.cpp.vec_isa_ok = memory.known.get("vec_isa_ok") or setting
    try:
        accepted = {str(one) for one in isa.valid_vec_isa_list()}
    finally:
        config.cpp.vec_isa_ok = setting
    flags = set(_cpu_flags().split())
    if {str(one) for one in isa.supported_vec_isa_list if str(one) in flags} == accepted:
        memory.keep(vec_isa_ok=True)


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


class _Memory:
    """What an environment remembers between runs, in one folder per environment and CPU."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "memory.json"
        try:
            self.known: dict[str, Any] = _checked(json.loads(self._file.read_text()))
        except (OSError, ValueError):
            self.known = {}

    @classmethod
    def of_this_environment(cls, fallback: Path) -> _Memory:
        parts = [sys.prefix, sys.version, _torch_build(), cpu_name(), _cpu_flags(), _compiler()]
        # It limits which vector instructions are looked for.
        parts += [limit] if (limit := os.environ.get(CAPABILITY_VARIABLE)) else []
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        for folder in (cache_home() / "warm" / digest, fallback / "warm"):
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                if os.access(folder, os.W_OK):
                    break
        return cls(folder)

    def keep(self, **facts: Any) -> None:
        if all(name in self.known and self.known[name] == value for name, value in facts.items()):
            return
        self.known.update(facts)
        with contextlib.suppress(FileError):
            write_text(self._file, json.dumps(self.known))


def _torch_build() -> str:
    """Identity of the torch build, read without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    with contextlib.suppress(OSError):
        return (Path(spec.origin).parent / "version.py").read_text()
    return ""


def _cpu_flags() -> str:
    with contextlib.suppress(OSError):
        if found := re.search(r"^flags\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
            return found[1]
    return ""


def _compiler() -> str:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        return ""
    with contextlib.suppress(OSError):
        return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    return ""


def _checked(known: Any) -> dict[str, Any]:
    """What is remembered.

    Raises:
        ValueError: it is not what `_Memory.keep` writes.
    """
    needs = known.get("needs", {}) if isinstance(known, dict) else None
    if not isinstance(needs, dict) or not all(isinstance(one, dict) for one in needs.values()):
        raise ValueError("no memory of an environment")
    return dict(known)
