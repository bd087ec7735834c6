"""pt2bugs: an executable corpus of documented PyTorch 2 compiler bugs, measured per release.

Data flows one way: case files -> plan -> cells -> journal -> matrix -> answers. Imported inside every measured
environment, this module itself needs nothing but the standard library; the functions for users of the corpus are
imported when they are first asked for.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

# Not imported: it takes most of the time in which Ctrl-C meets this module, before the command can answer it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pt2bugs.api import (
        BisectResult,
        CellResult,
        Change,
        KnownBug,
        Recognition,
        TriageResult,
        bisect,
        load_cases,
        load_cells,
        match,
        run_cell,
        triage,
    )

__version__ = "0.2.0"
__all__ = [
    "BisectResult",
    "CellResult",
    "Change",
    "KnownBug",
    "Recognition",
    "TriageResult",
    "__version__",
    "bisect",
    "load_cases",
    "load_cells",
    "match",
    "run_cell",
    "triage",
]
_ROOMS = ("bisect", "match", "triage")
"""Functions with the name of a room. Importing a module of the room makes the room an attribute of the package, so the
room itself is what can be called."""


class _CallableRoom(ModuleType):
    """A room that is also the function of its name in `pt2bugs.api`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    @property
    def __wrapped__(self) -> Any:
        """The function; `inspect.signature` and `help` of interactive shells follow it."""
        return getattr(import_module("pt2bugs.api"), self.__name__.rpartition(".")[2])


class _Package(ModuleType):
    """The package, which makes these rooms callable when the import of one sets its attribute."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS and type(value) is ModuleType:
            value.__class__ = _CallableRoom
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"pt2bugs.{name}")
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module 'pt2bugs' has no attribute {name!r}")
    return getattr(import_module("pt2bugs.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
