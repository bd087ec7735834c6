"""pt2bugs: an executable corpus of documented PyTorch 2 compiler bugs, measured per release.

Data flows one way: case files -> plan -> cells -> journal -> matrix -> answers. Imported inside every measured
environment, this module itself needs nothing but the standard library; the functions for users of the corpus are
imported when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pt2bugs.api import CellResult, load_cases, load_cells, run_cell

__version__ = "0.2.0"
__all__ = ["CellResult", "__version__", "load_cases", "load_cells", "run_cell"]


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in __all__:
        raise AttributeError(f"module 'pt2bugs' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("pt2bugs.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
