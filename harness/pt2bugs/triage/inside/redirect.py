"""Redirect every way of a program into the compiler, and record what the program asked for. Runs inside a child.

The program itself stays as it is: the functions are replaced before it is imported. Torch is imported only when a
program is about to run, because some variables must be set before.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pt2bugs.engine.observe import inside_torch, observe_exception, type_name
from pt2bugs.triage.inside import precision

NONE = "none"
"""The backend of a redirection that takes the compiler away."""
FUNCTIONALIZE = "functionalize"
"""The backend of a redirection that only functionalizes the graphs of Dynamo, at each call."""
_MAX_NOTES = 40


class Entries:
    """Record of what a program asked of the compiler.

    `kinds` are the ways in (``compile``, ``export``, ``make_fx``, ``fx``, ``fake-tensor``, ``functionalize``,
    ``aot-inductor``), `backends` the names of those it named.
    `caught` are observations of exceptions that left the compiler, whether or not the program caught them.
    """

    def __init__(self, path: str, tell: Callable[[str], None]) -> None:
        self._path, self._tell = path, tell
        self.kinds: list[str] = []
        self.backends: list[str] = []
        self.own_compilers = False
        """True where a backend that it made with `aot_autograd` has compilers of its own."""
        self.refused = False
        """True where a call of `torch.compile` itself raised."""
        self.caught: list[dict[str, Any]] = []
        self.absent: list[str] = []
        self.precision: list[str] = []
        """Nearness to the exact result of each compared call: see `precision`."""
        self.difference = ""
        """Size of the difference of the first call that is not equal to eager's."""
        self.disabled = ""
        """Name of the last application that torch's own bisector let through."""
        self._depth = 0

    def enter(self, kind: str) -> None:
        """Note a way into the compiler.

        Args:
            kind: its name.
        """
        if kind not in self.kinds:
            self.kinds.append(kind)
            self._tell(kind)

    def compare(self, word: str, size: str = "") -> None:
        """Note how near the result of a call is to eager's.

        Args:
            word: see `precision`.
            size: of the difference; empty where there is none.
        """
        self.precision.append(word)
        self.difference = self.difference or size

    def name_backend(self, backend: Any) -> None:
        """Note a backend that the program asks for.

        Args:
            backend: its name, or a function.
        """
        if callable(backend) and not isinstance(backend, str):
            self.own_compilers = self.own_compilers or has_own_compilers(backend)
            backend = getattr(backend, "__name__", type(backend).__name__)
        if str(backend) not in self.backends:
            self.backends.append(str(backend))

    def catch(self, error: BaseException) -> None:
        """Note an exception that leaves the compiler.

        Args:
            error: the exception.
        """
        if len(self.caught) < _MAX_NOTES and isinstance(error, Exception):
            self.caught.append(observe_exception(error, self._path).as_dict())

    @contextmanager
    def inside(self) -> Iterator[bool]:
        """Yield whether this is the outermost of calls that go through each other."""
        self._depth += 1
        try:
            yield self._depth == 1
        finally:
            self._depth -= 1


def install(redirect: Mapping[str, Any], entries: Entries) -> None:
    """Redirect the program that is about to run.

    Args:
        entries: records what it asks for.
        redirect: any of `backend` (``none``, a name), `mode`, `dynamic`, `fullgraph` (what every call gets instead of
            its own), `own_compilers` (false: without those of a backend made by `aot_autograd`), `strict` (of every
            export), `config` (dotted names of settings, and their values), `no_decomposition` (operators whose
            decompositions Inductor does without), `python_decompositions` (false: traces use the kernels of C++),
            `precision` (true: each call is compared with eager and with double precision),
            `aot_inductor` (``none``: exported programs run instead of the packages that AOTInductor makes of them).
    """
    import torch

    _redirect_compile(torch, redirect, entries)
    _redirect_export(redirect, entries)
    _watch_others(
        entries, without_aot=redirect.get("backend") == NONE, without_aot_inductor=redirect.get("aot_inductor") == NONE
    )
    for dotted, value in redirect.get("config", {}).items():
        module, _, name = dotted.rpartition(".")
        try:
            owner: Any = _resolve(module)
            getattr(owner, name)
            setattr(owner, name, value)
        except Exception:
            entries.absent.append(dotted)
    if names := redirect.get("no_decomposition"):
        entries.absent += remove_decompositions(set(names))
    if redirect.get("python_decompositions") is False:
        entries.absent += remove_python_decompositions()
    if "bisect" in redirect:
        _note_bisection(redirect["bisect"], entries)


def _note_bisection(limit: int, entries: Entries) -> None:
    """Switch torch's own bisector on, and note what it lets through last (`limit`)."""
    bisector: Any = getattr(import_or_none("torch._inductor.compiler_bisector"), "CompilerBisector", None)
    if bisector is None:
        entries.absent.append("torch._inductor.compiler_bisector")
        return
    bisector.bisection_enabled = True
    disable = bisector.disable_subsystem

    def noted(backend: str, subsystem: str, debug_info: Any = None) -> Any:
        ours = bisector.get_backend() == backend and bisector.get_subsystem() == subsystem
        if ours and debug_info is not None and bisector.get_system_counter(subsystem, increment=False) == limit:
            entries.disabled = str(debug_info())[:300]
        return disable(backend, subsystem, debug_info)

    bisector.disable_subsystem = noted


def _resolve(dotted: str) -> Any:
    """Return a module, or an object inside one (``torch._inductor.config.cpp``)."""
    try:
        return importlib.import_module(dotted)
    except ImportError:
        parent, _, name = dotted.rpartition(".")
        if not parent:
            raise
        return getattr(_resolve(parent), name)


def _redirect_compile(torch: Any, redirect: Mapping[str, Any], entries: Entries) -> None:
    original = torch.compile

    @functools.wraps(original)
    def compile_(model: Any = None, *args: Any, **options: Any) -> Any:
        if model is None:
            return lambda later: compile_(later, *args, **options)
        with entries.inside() as outermost:
            if outermost:
                entries.enter("compile")
                entries.name_backend(options.get("backend", "inductor"))
            if redirect.get("backend") == NONE:
                return _uncompiled(model, redirect)
            try:
                compiled = original(model, *args, **_options(redirect, options))
            except Exception:
                entries.refused = True
                raise
            is_outer = outermost and redirect.get("precision")
            return precision.measured(compiled, model, entries.compare) if is_outer else compiled

    torch.compile = compile_
    module_class = torch.nn.Module if hasattr(torch, "nn") else None
    if module_class is not None and redirect.get("backend") == NONE and hasattr(module_class, "compile"):

        def compile_module(self: Any, *args: Any, **options: Any) -> None:
            entries.enter("compile")
            entries.name_backend(options.get("backend", "inductor"))
            _uncompiled(self, redirect)

        module_class.compile = compile_module
    dynamo: Any = import_or_none("torch._dynamo")
    optimize = getattr(dynamo, "optimize", None)
    if optimize is not None:

        @functools.wraps(optimize)
        def optimize_(backend: Any = "inductor", *args: Any, **options: Any) -> Any:
            with entries.inside() as outermost:
                if not outermost:
                    return optimize(backend, *args, **options)
                entries.enter("compile")
                entries.name_backend(backend)
                if redirect.get("backend") == NONE:
                    return lambda model: _uncompiled(model, redirect)
                return optimize(_backend(redirect, backend), *args, **options)

        dynamo.optimize = optimize_
    if redirect.get("precision"):
        # Gradients are not compared: of a program that takes them nothing can be said.
        for owner, name in _backward_functions(torch):
            setattr(owner, name, _telling(getattr(owner, name), entries))
    if redirect.get("crossref"):
        # A backward pass is compiled with its forward pass, and called outside of it.
        for owner, name in _backward_functions(torch):
            setattr(owner, name, _compared(getattr(owner, name)))
    frames = sys.modules.get("torch._dynamo.convert_frame")
    wrapper = getattr(frames, "CatchErrorsWrapper", None)
    if wrapper is not None:
        _note_errors(wrapper, entries)


def _backward_functions(torch: Any) -> Iterator[tuple[Any, str]]:
    """Yield what takes gradients, each as its owner and its name."""
    autograd = import_or_none("torch.autograd")
    for owner, name in ((getattr(torch, "Tensor", None), "backward"), (autograd, "backward"), (autograd, "grad")):
        if hasattr(owner, name):
            yield owner, name


def _telling(function: Any, entries: Entries) -> Any:
    """Return a function that takes gradients, and says that these were not compared."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        entries.compare(precision.UNKNOWN)
        return function(*args, **kwargs)

    return call


def _note_errors(wrapper: Any, entries: Entries) -> None:
    """Note the exceptions that leave Dynamo for the program, which may catch and print them."""
    convert = wrapper.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return convert(self, *args, **kwargs)
        except Exception as error:
            entries.catch(error)
            raise

    wrapper.__call__ = call


def _options(redirect: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a call to `torch.compile`, redirected."""
    changed = dict(options)
    named = options.get("backend", "inductor")
    backend = _backend(redirect, named)
    if backend is not named:
        changed["backend"] = backend
    if redirect.get("backend") and redirect["backend"] != named:
        # Modes and options are one backend's own.
        changed.pop("mode", None)
        changed.pop("options", None)
    if "mode" in redirect:
        changed.pop("options", None)
    for name in ("mode", "dynamic", "fullgraph"):
        if name in redirect:
            changed[name] = redirect[name]
    return changed


def _backend(redirect: Mapping[str, Any], named: Any) -> Any:
    """Return the backend to use instead of the one that the program names.

    A function of the program's own goes on seeing its graphs: the program may count or look at them. What the graph is
    run by is the backend of the redirection, or for ``eager`` the function itself. A backend that the program makes
    with `aot_autograd` has compilers that see AOTAutograd's graphs: that one is ``aot_eager`` itself.
    """
    wanted = redirect.get("backend")
    if not wanted:
        return named
    if wanted == FUNCTIONALIZE:
        return lambda graph, _inputs: _resolve("torch.func").functionalize(graph)
    if wanted == "aot_eager" and redirect.get("own_compilers", True) and has_own_compilers(named):
        return named
    if isinstance(named, str) or not callable(named) or _is_torchs_own(named):
        return wanted
    if wanted == "eager":
        return named

    @functools.wraps(named, updated=())
    def observed(graph: Any, inputs: Any, **options: Any) -> Any:
        named(graph, inputs, **options)
        return _resolve("torch._dynamo.backends.registry").lookup_backend(wanted)(graph, inputs)

    return observed


def _uncompiled(model: Any, redirect: Mapping[str, Any]) -> Any:
    """Return what runs in the place of a compiled function or module."""
    if not redirect.get("crossref"):
        return model
    if callable(getattr(model, "forward", None)):
        model.forward = _compared(model.forward)
        return model
    return _compared(model)


def _compared(function: Any) -> Any:
    """Return the function, with every operator's result compared with what its fake tensor says of it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # Only one mode may compare: a second one would see the first one's results.
        if _modes:
            return function(*args, **kwargs)
        _modes.append(import_or_none("torch._subclasses").CrossRefFakeMode())
        try:
            with _modes[-1]:
                return function(*args, **kwargs)
        finally:
            _modes.clear()

    return call


_modes: list[Any] = []
"""The mode that compares, while one does."""


def _is_torchs_own(backend: Any) -> bool:
    """Return whether it is made by torch: `aot_autograd(...)`, a function of its registry, but no counter for tests."""
    module = getattr(type(backend) if not hasattr(backend, "__name__") else backend, "__module__", "") or ""
    return module.startswith("torch.") and "testing" not in module


def has_own_compilers(backend: Any) -> bool:
    """Return whether a backend made by `aot_autograd` hands its graphs to functions that are not torch's.

    Args:
        backend: a name or a function.
    """
    given = getattr(backend, "kwargs", None)
    if not _is_torchs_own(backend) or not isinstance(given, Mapping):
        return False
    compilers = [given.get(name) for name in ("fw_compiler", "bw_compiler", "inference_compiler")]
    return any(callable(compiler) and not _is_torchs_own(_unwrapped(compiler)) for compiler in compilers)


def _unwrapped(function: Any) -> Any:
    """Return the function that a `functools.partial` is made of."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _redirect_export(redirect: Mapping[str, Any], entries: Entries) -> None:
    export = import_or_none("torch.export")
    for name in ("export", "export_for_training", "draft_export"):
        original = getattr(export, name, None)
        if original is not None:
            setattr(export, name, _exporting(original, redirect, entries))


class _Unexported:
    """The result of an export where none is made: the module, which has run once as it is.

    What else a program asks of an `ExportedProgram` is missing; then this run says nothing.
    """

    def __init__(self, mod: Any, args: Any = (), kwargs: Any = None, **_: Any) -> None:
        mod(*args, **(kwargs or {}))
        self._mod = mod

    def module(self, **_: Any) -> Any:
        return self._mod

    def run_decompositions(self, *_: Any, **__: Any) -> Any:
        return self


def _exporting(original: Any, redirect: Mapping[str, Any], entries: Entries) -> Any:
    @functools.wraps(original)
    def export(*args: Any, **options: Any) -> Any:
        with entries.inside() as outermost:
            if outermost:
                entries.enter("export")
                if redirect.get("export") == NONE:
                    return _Unexported(*args, **options)
                if "strict" in redirect:
                    options["strict"] = redirect["strict"]
            try:
                return original(*args, **options)
            except Exception as error:
                if outermost:
                    entries.catch(error)
                raise

    return export


# --- the ways into the compiler beside `torch.compile` and `torch.export` ---

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


def _watch_others(entries: Entries, *, without_aot: bool, without_aot_inductor: bool) -> None:
    """Note the other ways into the compiler, where the caller is not torch itself.

    Args:
        entries: take note of them.
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
    """Return the function as it is, in the place of `aot_function` and `aot_module`."""
    return function if function is not None else options.get("fn", options.get("mod"))


def _nothing(*_: Any, **__: Any) -> Any:
    """Return a context that does nothing, in the place of compiled autograd."""
    return contextlib.nullcontext()


class _Uncompiled:
    """A stand-in for AOTInductor: a package is a name, and loading it gives the module that was to be compiled."""

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


def _noting(original: Any, kind: str, entries: Entries, instead: Any = None) -> Any:
    """Return the function, noting a call that does not come from torch, which goes to `instead` if that is given."""

    @functools.wraps(original)
    def noted(*args: Any, **options: Any) -> Any:
        if inside_torch(sys._getframe(1).f_code.co_filename):
            return original(*args, **options)
        entries.enter(kind)
        return (instead or original)(*args, **options)

    return noted


def import_or_none(name: str) -> Any:
    """Return a module; None where there is none, or it cannot be imported.

    Args:
        name: dotted.
    """
    try:
        return importlib.import_module(name)
    except Exception:
        return None


# --- decompositions ---

_NATIVE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CPU")
"""Dispatch keys of an operator's kernels in C++."""


def remove_decompositions(names: set[str]) -> list[str]:
    """Have Inductor use the kernels of operators instead of their decompositions.

    Args:
        names: of the operators, as ``aten.mm`` or ``aten.mm.default``.

    Returns:
        The decompositions that this torch does not have, in words.
    """
    table = getattr(import_or_none("torch._inductor.decomposition"), "decompositions", None)
    if table is None:
        return ["torch._inductor.decomposition.decompositions"]
    operators = [key for key in table if str(key) in names or str(key).rpartition(".")[0] in names]
    for operator in operators:
        table.pop(operator)
    return [] if operators else [f"decomposition of {', '.join(sorted(names))} in Inductor"]


def remove_python_decompositions() -> list[str]:
    """Take away the Python kernels that AOTAutograd's own trace applies to operators with a kernel in C++.

    Returns:
        The decompositions that this torch does not have, in words.
    """
    import torch

    importlib.import_module("torch._decomp.decompositions")  # registers them
    keys, has_kernel = torch._C.DispatchKey, torch._C._dispatch_has_kernel_for_dispatch_key
    is_removed = False
    for packet in list(vars(torch.ops.aten).values()):
        for operator in list(vars(packet).values()) if hasattr(packet, "overloads") else ():
            kernels = getattr(operator, "py_kernels", None)
            if not kernels or not any(has_kernel(operator.name(), key) for key in _NATIVE):
                continue
            for key in (keys.Autograd, keys.CompositeImplicitAutograd):
                is_removed = kernels.pop(key, None) is not None or is_removed
            getattr(operator, "_dispatch_cache", {}).clear()
    return [] if is_removed else ["Python decomposition of an operator"]


class HandledExceptions:
    """Recorder of the exceptions that reach functions of one file, with the interpreter's own tracing.

    Only for runs without the compiler, which tracing would disturb.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.seen: list[list[str]] = []

    def __enter__(self) -> None:
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self._path:
            return None
        if event == "exception" and len(self.seen) < _MAX_NOTES:
            name = type_name(argument[0])
            if name not in ("StopIteration", "GeneratorExit", "AttributeError", "KeyError"):
                self.seen.append([name, frame.f_code.co_name, str(frame.f_lineno)])
        return self._trace
