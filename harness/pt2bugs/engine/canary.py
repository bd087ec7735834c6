"""A trivial compile that shows whether an environment is healthy, before anything is said about bugs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from typing import Any

from pt2bugs.engine.backend import enter
from pt2bugs.engine.memory import cpu_name
from pt2bugs.engine.observe import in_one_line
from pt2bugs.engine.protocol import ReportPipe


def run_canary(request: Mapping[str, Any], pipe: ReportPipe) -> None:
    """Run the canary on the `device` with the `backend` of the request, and report.

    The report has ``absent`` if the device is not there, ``failed`` if the compile failed, else `device_name` and
    `modules`, the names of those that a compile needs; with `learn` those that most other programs need, too.
    """
    try:
        pipe.start()
        enter(request)
        asked = (request["device"], request["backend"], request["threads"])
        pipe.send("report", _compile_something(*asked, learn=request["learn"]))
    except BaseException as error:
        pipe.send("report", {"failed": in_one_line(error)})


def _compile_something(device: str, backend: str, threads: int, *, learn: bool) -> dict[str, Any]:
    import torch

    # As in a cell: without it the threads of the backward pass may race for torch's pool, and abort the process.
    torch.set_num_threads(threads)
    if not is_device_present(device):
        return {"absent": f"no {device} device here"}

    def program(x: Any) -> Any:
        return x.sin() * 2 + 1

    before = set(sys.modules)
    x = torch.arange(16, dtype=torch.float32, device=device) / 16
    compiled = torch.compile(program, backend=backend)
    torch.testing.assert_close(compiled(x), program(x))
    if learn:
        _compile_more(compiled, backend, x)
    modules = sorted(name for name in set(sys.modules) - before if _is_installed(name))
    return {"modules": modules, "device_name": device_name(device)}


def _compile_more(compiled: Any, backend: str, x: Any) -> None:
    """What most programs have and the canary has not; a backend that does not support it is healthy all the same."""
    import torch

    with contextlib.suppress(Exception):
        x.requires_grad_()
        compiled(x).sum().backward()

    def scaled(x: Any) -> Any:
        return x * 2

    with contextlib.suppress(Exception):
        # The compiler has modules for functions that are called, and for strides that differ.
        square = x.detach().reshape(4, 4)
        torch.compile(lambda x: scaled(x) + x.t(), backend=backend)(square)


def _is_installed(module: str) -> bool:
    """Whether a module came with Python or a package; a kernel that was just compiled did not."""
    origin = getattr(getattr(sys.modules[module], "__spec__", None), "origin", None) or ""
    return origin in ("built-in", "frozen") or origin.startswith((f"{sys.prefix}/", f"{sys.base_prefix}/"))


def is_device_present(device: str) -> bool:
    """Whether torch can use that device. Touches the accelerator: call it in a child only."""
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
    """The name of a device; of one that has none, its kind."""
    import torch

    if device == "cpu":
        return cpu_name()
    module: Any = getattr(torch, device.partition(":")[0], None)
    name = getattr(module, "get_device_name", None)
    return str(name()) if name else device
