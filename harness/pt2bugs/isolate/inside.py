"""Runs in the child of a trial: swaps functions in memory, calls the check, and says what ran and what Dynamo counted.

Standard library alone: it travels into every environment.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import os
import sys
import threading
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import _lru_cache_wrapper, cached_property
from typing import Any, TypedDict

from pt2bugs.case.observation import Observation
from pt2bugs.engine.check import observe_check, seed
from pt2bugs.engine.observe import render
from pt2bugs.engine.program import observe_counted, run_as_main
from pt2bugs.engine.warmup import leave_alone

_CONFIGURATIONS = {
    "_dynamo/config.py": "torch._dynamo.config",
    "_inductor/config.py": "torch._inductor.config",
    "_functorch/config.py": "torch._functorch.config",
    "fx/experimental/_config.py": "torch.fx.experimental._config",
    "compiler/config.py": "torch.compiler.config",
}
Place = tuple[str, int]
"""A code object: the file relative to the torch folder, and its first line."""


class FileSwap(TypedDict):
    """Changes of one file in memory.

    `text` is the path of the mixed text. `functions` are first lines of changed functions: in the loaded file, in the
    mixed text, and whether defaults are evaluated anew. `added` are first lines of new items in the mixed text, with
    the dotted name of the class that they belong to, or nothing.
    """

    file: str
    text: str
    functions: list[tuple[int, int, bool]]
    added: list[tuple[int, str]]


def run(request: Any) -> dict[str, Any]:
    """Call the check of a request, or run its file, with functions swapped and calls traced if it says so.

    Args:
        request: as for a check; `swap`, a list of `FileSwap`; `trace`, a file that takes a line for each code object
            as it is met, so that a crash leaves it; or an empty string.

    Returns:
        What a check reports; `counts`, what Dynamo counted besides; `defaults`, those of the compiler's configuration;
        and `unswapped`, the file and the line in the mixed text of what could not be put in.
    """
    import torch

    folder = f"{os.path.dirname(torch.__file__)}/"  # noqa: PTH120
    unswapped = _swap(request["swap"], folder) if request["swap"] else []
    with traced(request["trace"], folder) if request["trace"] else contextlib.nullcontext():
        seen, error = observe_check(request, _nothing) if request["check"] else _observe_script(request)
    return {
        "observation": seen.as_dict(),
        "text": render(error) if error is not None else "",
        "counts": _counts(),
        "defaults": _defaults(),
        "unswapped": unswapped,
    }


def _observe_script(request: Any) -> tuple[Observation, BaseException | None]:
    """Run the file as a program, for what a check without a name stands."""
    path = request["path"]
    seed(request["device"], request["threads"])
    return observe_counted(path, request["timeout_s"], lambda: run_as_main(path, ()))


def _nothing() -> None:
    """Do nothing when the check starts: the deadline counts from the call."""


# --- counting -------------------------------------------------------------------------------------------


def _counts() -> dict[str, int]:
    """Return what Dynamo counts besides what is counted of every check."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})

    def total(kind: str, *names: str) -> int:
        values = counters.get(kind, {})
        return sum(int(value) for name, value in values.items() if not names or name in names)

    return {
        "breaks": total("graph_break"),
        "compilations": total("frames", "total"),
        "operators": total("stats", "calls_captured"),
        "skipped": total("frames", "total") - total("frames", "ok"),
    }


def _defaults() -> dict[str, str]:
    """Return the defaults of the compiler's configuration that are plain values, by file and name."""
    defaults = {}
    for file, name in _CONFIGURATIONS.items():
        entries = getattr(sys.modules.get(name), "_config", None)
        for key, entry in entries.items() if isinstance(entries, dict) else ():
            value = getattr(entry, "default", entry)
            # A path is that of this copy, or of this process.
            is_path = isinstance(value, str) and os.sep in value
            if value is None or (isinstance(value, (bool, int, float, str)) and not is_path):
                defaults[f"{file}: {key}"] = repr(value)
    return defaults


# --- tracing --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def traced(path: str, folder: str) -> Iterator[None]:
    """Write down each code object of torch that is executed, or that Dynamo goes through in its place.

    Args:
        path: the file that takes a line for each.
        folder: that of torch, with a slash at its end.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    met: dict[int, types.CodeType] = {}
    write, prefix = os.write, len(folder)

    def note(code: types.CodeType) -> bool:
        if id(code) not in met:
            met[id(code)] = code
            if code.co_filename.startswith(folder):
                write(fd, f"{code.co_firstlineno} {code.co_filename[prefix:]}\n".encode())
        return False

    translator = getattr(sys.modules.get("torch._dynamo.symbolic_convert"), "InstructionTranslatorBase", None)
    if translator is not None:
        original = translator.__init__

        def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            note(self.f_code)

        translator.__init__ = initialize
    try:
        with watched(note):
            yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def watched(called: Callable[[types.CodeType], bool]) -> Iterator[None]:
    """Be told of calls of functions in Python.

    Args:
        called: gets the code object of each; returns whether it is to be told of its next calls, too. Before
            Python 3.12 it is told of all.
    """
    watch = _monitored if sys.version_info >= (3, 12) else _profiled
    with watch(called):
        yield


@contextlib.contextmanager
def _profiled(called: Callable[[types.CodeType], bool]) -> Iterator[None]:
    def profile(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call":
            called(frame.f_code)

    leave_alone(called, profile)
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextlib.contextmanager
def _monitored(called: Callable[[types.CodeType], bool]) -> Iterator[None]:
    """Watch at next to no cost, where a profile is called for every call."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    tool, events = monitoring.PROFILER_ID, monitoring.events

    def start(code: types.CodeType, _: int) -> Any:
        return None if called(code) else monitoring.DISABLE

    leave_alone(called, start)
    monitoring.use_tool_id(tool, "pt2bugs")
    monitoring.register_callback(tool, events.PY_START, start)
    monitoring.set_events(tool, events.PY_START)
    # What another watch heard enough of is new to this one.
    monitoring.restart_events()
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, events.PY_START, None)
        monitoring.free_tool_id(tool)


# --- swapping -------------------------------------------------------------------------------------------


class SwapError(Exception):
    """A function that cannot be swapped in memory; as text it can be."""


@contextlib.contextmanager
def swapped(swaps: Sequence[FileSwap], folder: str) -> Iterator[list[tuple[str, int]]]:
    """Swap functions in memory, yield file and line of what cannot be swapped, and take everything back at the end.

    Args:
        swaps: of each file that is changed.
        folder: that of torch, with a slash at its end.
    """
    for swap in swaps:
        with contextlib.suppress(Exception):
            importlib.import_module(_module_name(swap["file"]))
    gc.unfreeze()
    wanted = {f"{folder}{swap['file']}" for swap in swaps}
    modules = [module for module in list(sys.modules.values()) if getattr(module, "__file__", None) in wanted]
    functions = {
        id(function): (function, function.__code__, function.__defaults__, function.__kwdefaults__)
        for function in _functions_of(modules)
    }
    classes = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    names = [(owner, dict(vars(owner))) for owner in (*modules, *classes)]
    try:
        yield _swap(swaps, folder)
    finally:
        gc.unfreeze()
        for function, code, defaults, kwdefaults in functions.values():
            function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, kwdefaults
        for owner, had in names:
            _restore(owner, had)
        _clear_caches([function for function, *_ in functions.values()])
        gc.freeze()


def _functions_of(modules: Collection[types.ModuleType]) -> list[types.FunctionType]:
    """Return the functions that stand in the text of modules, wherever they are kept.

    Nobody lists them; each refers to the names of its module. To look at all objects there are would copy their memory.
    """
    files = {module.__file__ for module in modules}
    referrers = gc.get_referrers(*(vars(module) for module in modules)) if modules else []
    return [
        referrer
        for referrer in referrers
        if type(referrer) is types.FunctionType and referrer.__code__.co_filename in files
    ]


def _clear_caches(functions: Collection[types.FunctionType]) -> None:
    """Forget what `functools.cache` keeps of functions."""
    for wrapper in gc.get_referrers(*functions) if functions else ():
        if type(wrapper) is _lru_cache_wrapper:
            wrapper.cache_clear()


def _restore(owner: Any, names: Mapping[str, Any]) -> None:
    """Give a module or class the attributes that it had."""
    for name, value in dict(vars(owner)).items():
        if name not in names:
            delattr(owner, name)
        elif value is not names[name]:
            setattr(owner, name, names[name])


def _swap(swaps: Sequence[FileSwap], folder: str) -> list[tuple[str, int]]:
    """Give the functions of loaded modules other code, and their modules what that code needs beside.

    Returns:
        File and line of what cannot be swapped.
    """
    unswapped: list[tuple[str, int]] = []
    for swap in swaps:
        with contextlib.suppress(Exception):
            importlib.import_module(_module_name(swap["file"]))
    gc.unfreeze()
    loaded = {getattr(module, "__file__", None): module for module in list(sys.modules.values())}
    modules = {path: loaded[path] for swap in swaps if (path := f"{folder}{swap['file']}") in loaded}
    functions: dict[tuple[str, int, str], list[types.FunctionType]] = {}
    for function in _functions_of(modules.values()):
        code = function.__code__
        functions.setdefault((code.co_filename, code.co_firstlineno, code.co_name), []).append(function)
    files = []
    for swap in swaps:
        path = f"{folder}{swap['file']}"
        module = modules.get(path)
        if module is None:
            unswapped += [
                (swap["file"], line)
                for line in (*(item[1] for item in swap["functions"]), *(item[0] for item in swap["added"]))
            ]
            continue
        with open(swap["text"], encoding="utf-8") as file:  # noqa: PTH123
            files.append((swap, path, module, _Mixed(file.read(), path)))
    unswapped += _add(
        [
            (swap["file"], module, mixed, line, scope)
            for swap, _, module, mixed in files
            for line, scope in swap["added"]
        ]
    )
    swapped: set[types.FunctionType] = set()
    for swap, path, module, mixed in files:
        for old_line, new_line, defaults in swap["functions"]:
            try:
                swapped |= _swap_function(functions, path, module, mixed, old_line, new_line, defaults=defaults)
            except Exception:
                unswapped.append((swap["file"], new_line))
    _clear_caches(swapped)
    gc.freeze()
    return unswapped


def _module_name(file: str) -> str:
    return f"torch.{file.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


class _Mixed:
    """The mixed text of a file, compiled but never run as a whole."""

    def __init__(self, text: str, path: str) -> None:
        self._text, self.path = text, path
        module = compile(text, path, "exec", dont_inherit=True)
        self._flags = module.co_flags & 0x1FE0000
        self.codes: dict[tuple[int, str], types.CodeType] = {}
        todo = [module]
        while todo:
            for code in _inner(todo.pop()):
                self.codes[code.co_firstlineno, code.co_name] = code
                todo.append(code)

    @cached_property
    def _tree(self) -> ast.Module:
        # Of most texts the code objects are enough, and a tree takes as long again.
        return ast.parse(self._text)

    def function_at(self, line: int) -> str:
        """Return the name of the function that begins at a line, its decorators included; empty if there is none."""
        return next((name for first, name in self.codes if first == line and not name.startswith("<")), "")

    def statement(self, line: int) -> ast.stmt:
        """Return the innermost statement that begins at a line."""
        starts = {
            min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))]): node
            for node in self._statements(self._tree.body)
        }
        return starts[line]

    def _statements(self, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for node in body:
            yield node
            if isinstance(node, ast.ClassDef):
                yield from self._statements(node.body)

    def execute(self, node: ast.stmt, names: dict[str, Any]) -> None:
        """Run one statement, with the future imports of the file."""
        tree = ast.Module([node], [])
        exec(compile(tree, self.path, "exec", flags=self._flags, dont_inherit=True), names)


def _inner(code: types.CodeType) -> list[types.CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]


def _swap_function(
    functions: Mapping[tuple[str, int, str], list[types.FunctionType]],
    path: str,
    module: types.ModuleType,
    mixed: _Mixed,
    old_line: int,
    new_line: int,
    *,
    defaults: bool,
) -> set[types.FunctionType]:
    name = mixed.function_at(new_line)
    live = functions.get((path, old_line, name), [])
    new = mixed.codes.get((new_line, name))
    if not live or new is None:
        raise SwapError(f"{name} is not there as a function")
    swapped = set()
    for old_code, new_code in _pairs(live[0].__code__, new):
        for function in functions.get((path, old_code.co_firstlineno, old_code.co_name), []):
            if function.__code__ is not old_code and function.__code__ != old_code:
                continue
            if old_code.co_freevars != new_code.co_freevars:
                raise SwapError(f"{name} has other free variables")
            function.__code__ = new_code
            swapped.add(function)
    if defaults:
        bare: Any = mixed.statement(new_line)
        bare.decorator_list = []
        names = dict(vars(module))
        mixed.execute(bare, names)
        for function in live:
            function.__defaults__, function.__kwdefaults__ = names[name].__defaults__, names[name].__kwdefaults__
    return swapped


def _pairs(old: types.CodeType, new: types.CodeType) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """Yield pairs of code objects that stand at the same place inside two functions."""
    yield old, new
    left = _inner(new)
    for code in _inner(old):
        partner = next((candidate for candidate in left if candidate.co_name == code.co_name), None)
        if partner is not None:
            left.remove(partner)
            yield from _pairs(code, partner)


def _add(pending: list[tuple[str, types.ModuleType, _Mixed, int, str]]) -> list[tuple[str, int]]:
    """Run new items in their loaded modules, those again that failed as long as others succeed; return what is left."""
    while pending:
        waiting = []
        for item in pending:
            _, module, mixed, line, scope = item
            try:
                _add_item(module, mixed, mixed.statement(line), scope)
            except Exception:
                waiting.append(item)
        if len(waiting) == len(pending):
            break
        pending = waiting
    return [(file, line) for file, _, _, line, _ in pending]


def _add_item(module: types.ModuleType, mixed: _Mixed, node: ast.stmt, scope: str) -> None:
    if not scope:
        mixed.execute(node, vars(module))
        return
    owner: Any = module
    for name in scope.split("."):
        owner = getattr(owner, name)
    names = dict(vars(module))
    body: Any = ast.ClassDef(name=owner.__name__, bases=[], keywords=[], body=[node], decorator_list=[])
    if sys.version_info >= (3, 12):
        body.type_params = []
    mixed.execute(ast.fix_missing_locations(body), names)
    for name, value in vars(names[owner.__name__]).items():
        if name not in ("__dict__", "__weakref__", "__module__", "__doc__", "__qualname__"):
            setattr(owner, name, _bound_to(owner, value))


def _bound_to(owner: type, value: Any) -> Any:
    """Return the attribute with `super()` and `__class__` meaning the class that it is put into."""
    if isinstance(value, (staticmethod, classmethod)):
        return type(value)(_bound_to(owner, value.__func__))
    if isinstance(value, property):
        parts: list[Callable[..., Any] | None] = [value.fget, value.fset, value.fdel]
        return property(*(part and _bound_to(owner, part) for part in parts))
    if isinstance(value, types.FunctionType) and "__class__" in value.__code__.co_freevars:
        cells = value.__closure__ or ()
        closure = tuple(
            types.CellType(owner) if name == "__class__" else cell
            for name, cell in zip(value.__code__.co_freevars, cells, strict=True)
        )
        new = types.FunctionType(value.__code__, value.__globals__, value.__name__, value.__defaults__, closure)
        new.__kwdefaults__ = value.__kwdefaults__
        return new
    return value
