"""A trivial compile that shows whether an environment is healthy, before anything is said about bugs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pt2bugs.engine.backend import enter
from pt2bugs.engine.messages import CanaryReport, CanaryRequest
from pt2bugs.engine.observe import in_one_line
from pt2bugs.engine.protocol import ReportPipe
from pt2bugs.engine.warm_cache import cpu_name


def run_canary(request: CanaryRequest, pipe: ReportPipe) -> None:
    """Run the canary on the `device` with the `backend` of the request, and report.

    The report has ``absent`` if the device is not there, ``failed`` if the compile failed, else `device_name` and
    `modules`, the names of those that a compile needs, in the order of their import. With `record_modules` it has those
    that most other programs need, too; a frame ``healthy`` goes before it, as a crash while these are compiled says
    nothing about the environment.

    Args:
        request: names device and backend.
        pipe: takes the report.
    """
    try:
        pipe.start()
        enter(request)
        asked = (request["device"], request["backend"], request["threads"])
        for kind, report in _compile_something(*asked, record_modules=request["record_modules"]):
            pipe.send(kind, report)
    except BaseException as error:
        pipe.send("report", CanaryReport(failed=in_one_line(error)))


def _compile_something(
    device: str, backend: str, threads: int, *, record_modules: bool
) -> Iterator[tuple[str, CanaryReport]]:
    """Yield the kind and content of each frame to send."""
    import torch

    # As in a cell: without it the threads of the backward pass may race for torch's pool, and abort the process.
    torch.set_num_threads(threads)
    if not is_device_present(device):
        yield "report", {"absent": f"no {device} device here"}
        return

    def program(x: Any) -> Any:
        return x.sin() * 2 + 1

    before = set(sys.modules)

    def report() -> CanaryReport:
        modules = [name for name in list(sys.modules) if name not in before and _is_installed(name)]
        return {"modules": modules, "device_name": device_name(device)}

    x = torch.arange(16, dtype=torch.float32, device=device) / 16
    compiled = torch.compile(program, backend=backend)
    torch.testing.assert_close(compiled(x), program(x))
    if record_modules:
        yield "healthy", report()
        _compile_more(compiled, backend, x)
    yield "report", report()


def _compile_more(compiled: Any, backend: str, x: Any) -> None:
    """Compile a backward pass, a called function and a transposed input, to record the modules that they import.

    Failures are ignored: a backend that does not support them is healthy.
    """
    import torch

    with _ignoring_failures():
        x.requires_grad_()
        compiled(x).sum().backward()

    def scaled(x: Any) -> Any:
        return x * 2

    with _ignoring_failures():
        square = x.detach().reshape(4, 4)
        torch.compile(lambda x: scaled(x) + x.t(), backend=backend)(square)


@contextlib.contextmanager
def _ignoring_failures() -> Iterator[None]:
    """Ignore exceptions, also `SystemExit` of a backend, which is no `Exception`."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        return


def _is_installed(module: str) -> bool:
    """Return whether a module came with Python, torch or a package; a kernel that was just compiled did not."""
    import torch

    origin = getattr(getattr(sys.modules[module], "__spec__", None), "origin", None) or ""
    # A torch that was built from source stands where it was built.
    folders = (sys.prefix, sys.base_prefix, str(Path(torch.__file__).parent))
    return origin in ("built-in", "frozen") or origin.startswith(tuple(f"{folder}/" for folder in folders))


def is_device_present(device: str) -> bool:
    """Return whether torch can use that device. Touches the accelerator: call it in a child only.

    Args:
        device: the word of torch for it.
    """
    import torch

    if device in ("cpu", "meta"):
        return True
    kind = device.partition(":")[0]
    module: Any = getattr(torch, kind, None) or getattr(torch.backends, kind, None)
    if module is not None:
        available = getattr(module, "is_available", None)
        return bool(available and available())
    # A device that a package brings, as torch_xla does, has no module in torch: only a tensor tells.
    try:
        torch.empty(1, device=device)
    except Exception:
        return False
    return True


def device_name(device: str) -> str:
    """Return the name of a device; of one that has none, its kind.

    Args:
        device: the word of torch for it.
    """
    import torch

    if device == "cpu":
        return cpu_name()
    module: Any = getattr(torch, device.partition(":")[0], None)
    name = getattr(module, "get_device_name", None)
    return str(name()) if name else device
