"""The setup by which `torch.compile(backend=NAME)` finds a backend in a cell: modules that register it, and settings.

Runs in the cell's process, so that a setting made for one cell is never seen by another.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pt2bugs.engine.messages import CanaryRequest, CheckRequest, Setup


@dataclass(frozen=True)
class BackendSetup:
    """Imports, variables and settings by which a backend is reached.

    Args:
        name: its name in the journal, such as ``inductor-cpp-wrapper``.
        backend: what `torch.compile` gets for it, such as ``inductor``.
        imports: modules whose import registers it.
        env: variables to be set before torch is imported.
        settings: values of attributes, by dotted module.
        device: the device that replaces the CPU in its cells; empty if it compiles for the CPU itself.
        not_claimed: what it does not claim to do, in the words of `demands`.
    """

    name: str
    backend: str
    imports: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    device: str = ""
    not_claimed: tuple[str, ...] = ()

    def request(self) -> Setup:
        """Return the part of a request that says so, for `enter` in the cell's process."""
        return {
            "imports": list(self.imports),
            "settings": {name: dict(values) for name, values in self.settings.items()},
        }


def enter(request: CheckRequest | CanaryRequest) -> None:
    """Import and set what the backend of the request needs.

    Args:
        request: of a cell that goes through the backend.

    Raises:
        Exception: whatever an import raises; AttributeError: this torch does not have the setting.
    """
    wanted = request["setup"]
    if wanted is None:
        return
    for name in wanted["imports"]:
        importlib.import_module(name)
    for name, values in wanted["settings"].items():
        module = importlib.import_module(name)
        for attribute, value in values.items():
            *path, last = attribute.split(".")
            target: Any = module
            for part in path:
                target = getattr(target, part)
            getattr(target, last)  # a setting that this torch does not know would be made in vain
            setattr(target, last, value)
