"""Prepares what every cell would repeat: imports, and what Inductor asks of the machine. Must stay safe to fork.

Runs in the zygote: no parallel operator, no accelerator, no compiled kernel.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from pt2bugs.collector import collector_paused
from pt2bugs.engine import inductor
from pt2bugs.engine.facts import EnvironmentFacts
from pt2bugs.engine.folders import cache_home
from pt2bugs.engine.memory import Memory, cpu_name

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


def prepare(settings: Mapping[str, Any], folder: Path) -> EnvironmentFacts:
    """Import torch and the compiler, and say what was imported.

    Args:
        settings: `threads` of every child; `targets`, the devices and backends in use, as for those that compile
            kernels the vector ISA must be known; `imports`, modules that register a backend; `distributions`, names
            whose versions are asked.
        folder: of the run, to keep things in should the cache not be writable.

    Returns:
        Facts of the environment.

    Raises:
        Exception: whatever the import of torch raises; the environment is then broken.
    """
    threads: int = settings["threads"]
    memory = Memory.of_this_environment(folder)
    # Inductor keeps precompiled headers and the ISA probe's library under the temporary folder it finds at
    # import, and kernels under TORCHINDUCTOR_CACHE_DIR, which every cell has of its own.
    os.environ["TMPDIR"] = str(memory.folder)
    tempfile.tempdir = None
    with collector_paused():
        import torch

        _import_all(_MODULES)
    with contextlib.suppress(Exception):
        # It looks for those of installed packages, as the first compile of a process does.
        torch._dynamo.list_backends()
    torch.set_num_threads(threads)
    for name in settings.get("imports", ()):
        importlib.import_module(name)
    targets = [tuple(target) for target in settings["targets"]]
    if any(backend not in _WITHOUT_KERNELS for _, backend in targets):
        for_cpu = any(device == "cpu" and backend.startswith("inductor") for device, backend in targets)
        inductor.warm_up(memory, compiles_kernels=for_cpu)
    inductor.forget_kernel_folder()
    remembered: dict[str, Needs] = memory.stored.get("needs", {})
    known = [name for name in (_target(*one) for one in targets) if name in remembered]
    for name in known:
        provide(remembered[name])
    return EnvironmentFacts(
        torch=str(torch.__version__),
        torch_git=torch.version.git_version or "",
        python=platform.python_version(),
        platform=platform.platform(),
        cpu_capability=_cpu_capability(torch),
        device_name=cpu_name(),
        memory=str(memory.folder),
        known_targets=tuple(known),
        paths=interpreter_paths(),
        distributions=dict(_versions(settings.get("distributions", ()))),
    )


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


def is_known(facts: EnvironmentFacts, device: str, backend: str) -> bool:
    """Whether `prepare` has provided what a compile there needs."""
    return _target(device, backend) in facts.known_targets


def remember(facts: EnvironmentFacts, device: str, backend: str, needs: Needs) -> None:
    """Have `prepare` provide these the next time."""
    memory = Memory(Path(facts.memory))
    memory.save(needs={**memory.stored.get("needs", {}), _target(device, backend): needs})


def _cpu_capability(torch: Any) -> str:
    try:
        return str(torch.backends.cpu.get_cpu_capability())
    except AttributeError:  # before torch 2.1
        found = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
        return found[1] if found else ""
