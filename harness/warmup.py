"""What costs seconds and cannot hold a compiled kernel, done once: imports, the probe of the vector ISA.

Runs in the zygote, which must stay fit to fork: no parallel operator, no accelerator, no compiled kernel.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import json
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.files import write_text
from harness.garbage import no_collection

_MODULES = (
    "torch._dynamo",
    "torch._functorch.aot_autograd",
    "torch._inductor.compile_fx",
    "torch._inductor.codegen.cpp",
    "torch.export",
    "torch.fx.experimental.proxy_tensor",
    "torch.testing",
)


def cache_home() -> Path:
    """Where environments and what was learnt about them are kept; ``PT2BUGS_HOME`` moves it."""
    if home := os.environ.get("PT2BUGS_HOME"):
        return Path(home)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pt2bugs"


def set_environment(threads: int) -> None:
    """Settings that must stand before torch is imported, in the zygote or in a fresh interpreter."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["MKL_NUM_THREADS"] = str(threads)
    # A pool of compile workers would be forked from every cell.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ["PYTHONHASHSEED"] = os.environ.get("PYTHONHASHSEED", "0")


def prepare(threads: int, targets: Collection[tuple[str, str]], fallback: Path) -> dict[str, Any]:
    """Import torch and the compiler, and say what was imported.

    Args:
        threads: threads of every child.
        targets: the devices and backends in use. For Inductor the vector ISA must be known.
        fallback: a folder to keep things in for this run, should the cache not be writable.

    Returns:
        Facts about the environment; ``memory`` is the folder of what it remembers, ``known_targets`` are those
        of which it remembers what a compile needs.

    Raises:
        Exception: whatever the import of torch raises; the environment is then broken.
    """
    set_environment(threads)
    memory = _Memory.of_this_environment(fallback)
    # Inductor keeps precompiled headers and the ISA probe's library under the temporary folder it finds at
    # import, and kernels under TORCHINDUCTOR_CACHE_DIR, which every cell has of its own.
    os.environ["TMPDIR"] = str(memory.folder)
    tempfile.tempdir = None
    with no_collection():
        import torch

        _import_all(_MODULES)
    torch.set_num_threads(threads)
    if any(backend == "inductor" for _, backend in targets):
        with contextlib.suppress(Exception):
            _probe_vector_isa(memory)
    names = [_target(*one) for one in targets]
    remembered: dict[str, Needs] = memory.known.get("needs", {})
    known = [target for target in names if target in remembered]
    for target in known:
        provide(remembered[target])
    return {
        "torch": torch.__version__,
        "torch_git": torch.version.git_version or "",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu_capability": _cpu_capability(torch),
        "device_name": cpu_name(),
        "memory": str(memory.folder),
        "known_targets": known,
    }


Needs = dict[str, list[str]]
"""What a compile was seen to need: the ``modules`` it imported, the ``headers`` it asked to be precompiled."""


def provide(needs: Needs) -> None:
    """Import the modules and check the precompiled headers in this process, for its children to find them so.

    Inductor (torch 2.8 and newer) preprocesses all of them once in a process, to see that what it precompiled is up
    to date, and keeps the answer.
    """
    with no_collection():
        _import_all(needs.get("modules", ()))
    for call in needs.get("headers", ()):
        with contextlib.suppress(Exception):
            arguments, keywords = pickle.loads(bytes.fromhex(call))
            _codecache()._precompile_header(*arguments, **keywords)


def _import_all(modules: Iterable[str]) -> None:
    for name in modules:
        # Not every release has every module, and some are importable only in the state they were met in. A compiler
        # that does not import shows in the canary.
        with contextlib.suppress(BaseException):
            importlib.import_module(name)


def _codecache() -> Any:
    """Where Inductor compiles C++; None if nothing has imported it."""
    return sys.modules.get("torch._inductor.codecache")


def _target(device: str, backend: str) -> str:
    return f"{device} {backend}"


def is_known(facts: dict[str, Any], device: str, backend: str) -> bool:
    """Whether `prepare` has provided what a compile there needs."""
    return _target(device, backend) in facts["known_targets"]


def remember(facts: dict[str, Any], device: str, backend: str, needs: Needs) -> None:
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


class _Memory:
    """What an environment remembers between runs, in one folder per environment and CPU."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "memory.json"
        try:
            self.known: dict[str, Any] = json.loads(self._file.read_text())
        except (OSError, ValueError):
            self.known = {}

    @classmethod
    def of_this_environment(cls, fallback: Path) -> _Memory:
        parts = [sys.prefix, sys.version, _torch_build(), cpu_name(), _cpu_flags(), _compiler()]
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
        with contextlib.suppress(OSError):
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


def is_device_present(device: str) -> bool:
    """Whether torch can use that device. Touches the accelerator: call it in a child only."""
    import torch

    if device in ("cpu", "meta"):
        return True
    kind = device.partition(":")[0]
    module: Any = getattr(torch, kind, None) or getattr(torch.backends, kind, None)
    available = getattr(module, "is_available", None)
    return bool(available and available())


def canary(device: str, backend: str, *, train: bool) -> dict[str, Any]:
    """A trivial compile. If this fails, the environment is broken, and says nothing about any bug.

    Args:
        train: also compile a backward, to see what that needs.

    Returns:
        ``absent`` if the device is not there; else the name of the device and what a compile needs.

    Raises:
        Exception: whatever the compile raises, or AssertionError if its result is wrong.
    """
    import torch

    if not is_device_present(device):
        return {"absent": f"no {device} device here"}

    def program(x: Any) -> Any:
        return x.sin() * 2 + 1

    before = set(sys.modules)
    x = torch.arange(16, dtype=torch.float32, device=device) / 16
    compiled = torch.compile(program, backend=backend)
    with _headers_asked_for() as headers:
        torch.testing.assert_close(compiled(x), program(x))
        if train:
            # A backend that cannot train is healthy all the same.
            with contextlib.suppress(Exception):
                x.requires_grad_()
                compiled(x).sum().backward()
    modules = sorted(name for name in set(sys.modules) - before if _is_installed(name))
    return {"needs": {"modules": modules, "headers": headers}, "device_name": device_name(device)}


@contextlib.contextmanager
def _headers_asked_for() -> Iterator[list[str]]:
    """The calls by which Inductor asks for precompiled headers."""
    calls: list[str] = []
    original = getattr(_codecache(), "_precompile_header", None)
    if original is None:  # before torch 2.8
        yield calls
        return

    def precompile_header(*arguments: Any, **keywords: Any) -> Any:
        with contextlib.suppress(Exception):
            calls.append(pickle.dumps((arguments, keywords)).hex())
        return original(*arguments, **keywords)

    _codecache()._precompile_header = precompile_header
    try:
        yield calls
    finally:
        _codecache()._precompile_header = original


def _is_installed(module: str) -> bool:
    """Whether a module came with Python or a package; a kernel that was just compiled did not."""
    origin = getattr(getattr(sys.modules[module], "__spec__", None), "origin", None) or ""
    return origin in ("built-in", "frozen") or origin.startswith((f"{sys.prefix}/", f"{sys.base_prefix}/"))


def device_name(device: str) -> str:
    import torch

    if device == "cpu":
        return cpu_name()
    module: Any = getattr(torch, device.partition(":")[0], None)
    name = getattr(module, "get_device_name", None)
    return str(name()) if name else device
