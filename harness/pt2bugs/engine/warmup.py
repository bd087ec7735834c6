"""Prepares what every cell would repeat: imports, and what Inductor asks of the machine. Must stay safe to fork.

Runs in the zygote: no parallel operator, no accelerator, no compiled kernel. Nothing of it depends on what a cell does.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import platform
import re
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.engine.folders import cache_home
from pt2bugs.engine.linux import leave_network
from pt2bugs.engine.messages import Needs, Settings
from pt2bugs.engine.warm_cache import WarmCache, cpu_flags, cpu_name

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
_KERNEL_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
_KERNELS = ("", "at::vec::")
"""Texts of kernels, without vector instructions and with them: from torch 2.13 on each has compiler options of its own.
They are never compiled."""


def prepare(settings: Settings, folder: Path, warn: Callable[[str], None] = lambda _: None) -> EnvironmentFacts:
    """Import torch and the compiler, and say what was imported.

    Args:
        settings: `threads` of every child; `targets`, the devices and backends in use, as for those that compile
            kernels the vector ISA must be known; `imports`, modules that register a backend; `distributions`, names
            whose versions are asked; `offline`.
        folder: of the run, to keep things in should the cache not be writable.
        warn: gets one sentence for each thing that is wrong and does not matter.

    Returns:
        Facts of the environment.

    Raises:
        Exception: whatever the import of torch raises; the environment is then broken.
    """
    threads = settings["threads"]
    if settings.get("offline") and not leave_network():
        warn("the network cannot be cut here: what runs may use it")
    cache = WarmCache.of_this_environment(folder, warn)
    # Inductor keeps precompiled headers and the ISA probe's library under the temporary folder it finds at
    # import, and kernels under TORCHINDUCTOR_CACHE_DIR, which every cell has of its own.
    os.environ["TMPDIR"] = str(cache.folder)
    tempfile.tempdir = None
    with _audit_hooks_left_alone():
        import torch

        _import_all(_MODULES)
        with contextlib.suppress(Exception):
            # It looks for those of installed packages, as the first compile of a process does.
            torch._dynamo.list_backends()
        torch.set_num_threads(threads)
        for name in settings["imports"]:
            importlib.import_module(name)
    targets = [(device, backend) for device, backend in settings["targets"]]
    if any(backend not in _WITHOUT_KERNELS for _, backend in targets):
        for_cpu = any(device == "cpu" and backend.startswith("inductor") for device, backend in targets)
        _warm_up_inductor(cache, compiles_kernels=for_cpu)
    _forget_kernel_folder()
    needs = cache.stored.get("needs", {})
    known = [name for name in (_target(*target) for target in targets) if name in needs]
    for name in known:
        provide(needs[name])
    return EnvironmentFacts(
        torch=str(torch.__version__),
        torch_git=torch.version.git_version or "",
        python=platform.python_version(),
        platform=platform.platform(),
        cpu_capability=_cpu_capability(torch),
        device_name=cpu_name(),
        memory=str(cache.folder),
        known_targets=tuple(known),
        paths=interpreter_paths(),
        distributions=dict(_versions(settings["distributions"])),
    )


@contextlib.contextmanager
def _audit_hooks_left_alone() -> Iterator[None]:
    """Have Dynamo leave alone the audit hooks that imports add: they are called in the midst of whatever runs.

    filelock 4 has one. torch 2.8 compiles it as a frame of the program, which then has one frame more than with
    filelock 3.
    """
    add, hooks = sys.addaudithook, list[Any]()

    def note(hook: Any) -> None:
        hooks.append(hook)
        add(hook)

    sys.addaudithook = note
    try:
        yield
    finally:
        sys.addaudithook = add
        leave_alone(*hooks)


def leave_alone(*functions: Any) -> None:
    """Have Dynamo leave functions alone that are called beside a program; it would compile them.

    Args:
        functions: in Python; others are passed over.
    """
    for function in functions:
        with contextlib.suppress(Exception):
            # Its C part has the function under this name up to torch 2.6 alone.
            importlib.import_module("torch._dynamo.eval_frame").skip_code(function.__code__)


def interpreter_paths() -> dict[str, str]:
    """Return the folders of this interpreter, and the word that stands for each in results; empty: it is left out."""
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
    """Import the modules in this process, for its children to have them.

    Args:
        needs: the modules of a target.
    """
    _import_all(needs.get("modules", ()))


def _import_all(modules: Iterable[str]) -> None:
    for name in modules:
        # Not every release has every module, and some are importable only in the state they were met in. A compiler
        # that does not import shows in the canary.
        with contextlib.suppress(BaseException):
            importlib.import_module(name)


def _target(device: str, backend: str) -> str:
    return f"{device} {backend}"


def is_known(facts: EnvironmentFacts, device: str, backend: str) -> bool:
    """Return whether `prepare` has provided what a compile there needs.

    Args:
        facts: of this environment.
        device: of the compile.
        backend: of the compile.
    """
    return _target(device, backend) in facts.known_targets


def remember(facts: EnvironmentFacts, device: str, backend: str, needs: Needs) -> None:
    """Have `prepare` provide these the next time.

    Args:
        facts: of this environment.
        device: of the compile.
        backend: of the compile.
        needs: the modules that it imported.
    """
    WarmCache(Path(facts.memory)).save({"needs": {_target(device, backend): needs}})


def _cpu_capability(torch: Any) -> str:
    try:
        return str(torch.backends.cpu.get_cpu_capability())
    except AttributeError:  # before torch 2.1
        match = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
        return match[1] if match else ""


def _warm_up_inductor(cache: WarmCache, *, compiles_kernels: bool) -> None:
    """Have Inductor find out what every compile asks for; it keeps the answers in this process and its children.

    Args:
        cache: what is kept of it between runs.
        compiles_kernels: of a CPU. They need precompiled headers.
    """
    probes: list[Callable[[], None]] = [lambda: _probe_vector_isa(cache), _hash_sources]
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


def _probe_vector_isa(cache: WarmCache) -> None:
    """Have Inductor find the vector ISA of this CPU; it keeps the answer in this process and its children.

    It compiles and loads a library per ISA, each load in a Python of its own that imports torch. What worked
    once in this environment, on this CPU and with this compiler is remembered; what did not is tried again.
    """
    try:
        isa: Any = importlib.import_module("torch._inductor.cpu_vec_isa")
    except ImportError:  # before torch 2.5
        isa = importlib.import_module("torch._inductor.codecache")
    if hasattr(isa.VecISA, "check_build"):
        worked = _remember_builds(isa, set(cache.stored.get("isa_builds", ())))
        cache.save({"isa_builds": sorted(worked)})
        return
    # Before torch 2.5 a probe cannot be told from its result; there is only a setting that takes it for granted.
    config: Any = importlib.import_module("torch._inductor.config")
    setting = config.cpp.vec_isa_ok
    config.cpp.vec_isa_ok = cache.stored.get("vec_isa_ok") or setting
    try:
        accepted = {str(level) for level in isa.valid_vec_isa_list()}
    finally:
        config.cpp.vec_isa_ok = setting
    flags = set(cpu_flags().split())
    if {str(level) for level in isa.supported_vec_isa_list if str(level) in flags} == accepted:
        cache.save({"vec_isa_ok": True})


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


def _forget_kernel_folder() -> None:
    """Have Inductor ask again where kernels go: up to torch 2.3 it keeps the first answer.

    That is a folder which all cells of all runs share. One kernel that a killed cell left half written there failed
    every later cell that wanted the same one.
    """
    for name in sorted(sys.modules):
        if name.startswith("torch._inductor."):
            forget = getattr(vars(sys.modules[name]).get("cache_dir"), "cache_clear", None)
            if forget is not None:
                forget()
