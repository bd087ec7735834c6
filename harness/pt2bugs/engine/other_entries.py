"""The ways into the compiler beside `torch.compile` and `torch.export`: noted, and where asked taken away."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any, Protocol

from pt2bugs.engine.observe import inside_torch

_OTHERS = (
    ("torch.fx.experimental.proxy_tensor", "make_fx", "make_fx"),
    ("torch.fx", "symbolic_trace", "fx"),
    ("torch.func", "functionalize", "functionalize"),
    ("torch._dynamo", "export", "export"),
    ("torch._inductor", "aoti_compile_and_package", "aot-inductor"),
    ("torch._inductor", "aoti_load_package", "aot-inductor"),
    ("torch._export", "aot_compile", "aot-inductor"),
    ("torch._export", "aot_load", "aot-inductor"),
    ("torch._functorch.aot_autograd", "aot_function", "aot"),
    ("torch._functorch.aot_autograd", "aot_module", "aot"),
    ("torch._functorch.aot_autograd", "aot_export_module", "aot"),
    ("functorch.compile", "aot_function", "aot"),
    ("functorch.compile", "aot_module", "aot"),
    # Compiled autograd hands the graph of a whole backward to `torch.compile`.
    ("torch._dynamo.compiled_autograd", "enable", "compile"),
    ("torch._dynamo.compiled_autograd", "_enable", "compile"),
)


class Notes(Protocol):
    """Takes down that a program entered the compiler."""

    def enter(self, kind: str) -> None: ...


def watch_others(entries: Notes, *, without_aot: bool, without_aot_inductor: bool) -> None:
    """Note the other ways into the compiler, where the caller is not torch itself.

    Args:
        without_aot: take AOTAutograd and compiled autograd away from a program that calls them.
        without_aot_inductor: run what a program gives to AOTInductor as it is.
    """
    instead: dict[str, Callable[..., Any]] = {}
    if without_aot:
        instead |= {"aot_function": _plain, "aot_module": _plain, "enable": _nothing, "_enable": _nothing}
    if without_aot_inductor:
        instead |= _Uncompiled().functions
    for module, name, kind in _OTHERS:
        owner = import_or_none(module)
        original = getattr(owner, name, None)
        if original is not None:
            setattr(owner, name, _noting(original, kind, entries, instead.get(name)))
    fake = import_or_none("torch._subclasses.fake_tensor")
    mode = getattr(fake, "FakeTensorMode", None)
    if mode is not None:
        mode.__init__ = _noting(mode.__init__, "fake-tensor", entries)


def _plain(function: Any = None, *_: Any, **options: Any) -> Any:
    """What stands for `aot_function` and `aot_module` without the compiler: the function as it is."""
    return function if function is not None else options.get("fn", options.get("mod"))


def _nothing(*_: Any, **__: Any) -> Any:
    """What stands for compiled autograd."""
    return contextlib.nullcontext()


class _Uncompiled:
    """What stands for AOTInductor: a package is a name, and loading it gives the module that was to be compiled."""

    def __init__(self) -> None:
        self._packed: dict[str, Any] = {}
        self.functions: dict[str, Callable[..., Any]] = {
            "aoti_compile_and_package": self._package,
            "aoti_load_package": self._load,
            "aot_compile": self._package,
            "aot_load": self._load,
        }

    def _package(self, program: Any, *_: Any, package_path: Any = None, **__: Any) -> str:
        name = str(package_path or f"uncompiled-{len(self._packed)}.pt2")
        self._packed[name] = program.module() if hasattr(program, "graph_signature") else program
        return name

    def _load(self, path: Any, *_: Any, **__: Any) -> Any:
        return self._packed[str(path)]


def _noting(original: Any, kind: str, entries: Notes, instead: Any = None) -> Any:
    """The function, noting a call that does not come from torch, which goes to `instead` if that is given."""

    @functools.wraps(original)
    def noted(*args: Any, **options: Any) -> Any:
        if inside_torch(sys._getframe(1).f_code.co_filename):
            return original(*args, **options)
        entries.enter(kind)
        return (instead or original)(*args, **options)

    return noted


def import_or_none(name: str) -> Any:
    """A module; None where there is none, or it cannot be imported."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None
