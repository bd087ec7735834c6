"""Compare calls of a compiled graph with the same calls in eager, by values, metadata and gradients, inside a child.

Both get copies of the inputs that alias each other as those do. Values that differ are judged by a third run in double
precision: a compiled result that is as near to the exact one as eager's differs by rounding alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pt2bugs.engine.observe import in_one_line
from pt2bugs.triage.inside.precision import double_precision, is_near

CALLS = 8
"""Calls of each graph that are compared."""
SECONDS = 30.0
"""Seconds for all comparisons of a process; calls after that are not compared."""
SEED = 0
RAISES, NOT_EAGER = "the compiled graph raises ", ", eager does not"
"""Around the exception that only the compiled graph raises."""


class Comparison:
    """Compares the graphs of a process.

    Args:
        tell: gets the kind of an entry and its values.
    """

    def __init__(self, tell: Callable[..., None]) -> None:
        self.tell = tell
        self.seconds = 0.0
        self.graphs = 0
        self.is_busy = False

    def prepare(self, module: Any, place: str) -> WatchedGraph:
        """Return a graph of Dynamo before a backend changes it.

        Args:
            module: the graph.
            place: in the program.
        """
        self.graphs += 1
        return WatchedGraph(self, _copy_of(module), self.graphs, place)


def _copy_of(module: Any) -> Any:
    """Return a graph module with a graph of its own and the same parameters."""
    import torch

    graph = torch.fx.Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    return torch.fx.GraphModule(module, graph)


class WatchedGraph:
    """A graph, and the comparison of the calls of what a backend makes of it."""

    def __init__(self, comparison: Comparison, eager: Any, number: int, place: str) -> None:
        self._comparison, self._eager, self._number, self._place = comparison, eager, number, place
        self._calls = 0

    def around(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """Return the compiled graph, whose first calls are compared.

        Args:
            compiled: what the backend made.
        """

        def call(*args: Any) -> Any:
            comparison = self._comparison
            if self._calls < CALLS and comparison.seconds < SECONDS and not comparison.is_busy:
                self._calls += 1
                comparison.is_busy, began = True, time.monotonic()
                try:
                    self._compare(compiled, args)
                finally:
                    comparison.is_busy = False
                    comparison.seconds += time.monotonic() - began
            return compiled(*args)

        return call

    def _compare(self, compiled: Callable[..., Any], args: Sequence[Any]) -> None:
        where = {"graph": self._number, "call": self._calls, "place": self._place}
        try:
            with _same_random_numbers():
                differences, digest = compare(self._eager, compiled, args)
                if self._calls == 1:
                    differences += disbelieved(self._eager, args)
        except Exception as error:
            self._comparison.tell("not compared", reason=in_one_line(error)[:300], **where)
        else:
            self._comparison.tell("call", differences=differences, digest=digest, **where)


def compare(eager: Callable[..., Any], compiled: Callable[..., Any], args: Sequence[Any]) -> tuple[list[Any], str]:
    """Return how a compiled call differs from eager, and a digest of its results.

    Each difference has what differs (``output 0``, ``gradient of input 1``, ``input 2 afterwards``), how, and by how
    much at most where values differ.

    Args:
        eager: the function.
        compiled: the same, compiled.
        args: of the call; they stay as they are.

    Raises:
        Exception: the inputs cannot be copied.
    """
    ours = _outcome(compiled, args)
    theirs = _outcome(eager, args)
    digest = _digest(ours)
    if isinstance(ours, str) or isinstance(theirs, str):
        if isinstance(ours, str) and isinstance(theirs, str):
            return [], digest
        if isinstance(theirs, str):
            return [["call", f"eager raises {theirs}, the compiled graph does not", None]], digest
        return [["call", f"{RAISES}{ours}{NOT_EAGER}", None]], digest
    differences = _differences(ours, theirs, None)
    if any(how == "values" for _, how, _ in differences):
        exact = _outcome(eager, args, exact=True)
        if not isinstance(exact, str) and exact.keys() == ours.keys():
            differences = _differences(ours, theirs, exact)
    return differences, digest


def disbelieved(eager: Any, args: Sequence[Any]) -> list[Any]:
    """Return where eager computes a tensor with other strides than the compiler takes it to have.

    The result may be right all the same; what the compiler makes of it rests on a wrong belief.

    Args:
        eager: the graph, with the compiler's beliefs of each node.
        args: of a call; they stay as they are.
    """
    import torch

    differences: list[Any] = []

    class Watcher(torch.fx.Interpreter):  # type: ignore[misc,unused-ignore]
        def run_node(self, n: Any) -> Any:
            value, belief = super().run_node(n), n.meta.get("example_value")
            if isinstance(value, torch.Tensor) and isinstance(belief, torch.Tensor) and n.op != "placeholder":
                sizes = (*belief.shape, *belief.stride())
                known = value.layout is belief.layout is torch.strided and all(type(size) is int for size in sizes)
                if known and value.shape == belief.shape and _strides(value) != _strides(belief):
                    how = f"strides {tuple(belief.stride())}, not {tuple(value.stride())}"
                    differences.append([str(n.name), how, None])
            return value

    _, given = copies(args)
    torch.manual_seed(SEED)
    with contextlib.suppress(Exception):
        Watcher(eager).run(*given)
    return differences


@contextlib.contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Leave the state of torch's random numbers as it was."""
    import torch

    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


Outcome = dict[str, Any]
"""Values of a call by what they are: outputs, inputs afterwards, gradients; and ``aliases``."""


def _outcome(function: Callable[..., Any], args: Sequence[Any], *, exact: bool = False) -> Outcome | str:
    """Call on copies, backward too, and return all that came of it, or the exception in a line."""
    import torch

    leaves, given = copies(args, exact=exact)
    torch.manual_seed(SEED)
    values: Outcome = {}
    try:
        # Around the call alone: the copies are doubles already, and reading the memory of floats as such would not do.
        with double_precision() if exact else contextlib.nullcontext():
            result = function(*given)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        values.update({f"output {number}": value for number, value in enumerate(results)})
        values["aliases"] = _aliases([*results, *given])
        _add_gradients(values, results, leaves)
    except Exception as error:
        return in_one_line(error)[:200]
    for number, value in enumerate(given):
        if isinstance(value, torch.Tensor):
            values[f"input {number} afterwards"] = value
    return values


def _add_gradients(values: Outcome, results: Sequence[Any], leaves: Sequence[Any]) -> None:
    import torch

    roots = [value for value in results if isinstance(value, torch.Tensor) and value.requires_grad]
    wanted = [(number, leaf) for number, leaf in enumerate(leaves) if leaf is not None]
    if not roots or not wanted or not torch.is_grad_enabled():
        return
    generator = torch.Generator().manual_seed(SEED)
    cotangents = []
    for root in roots:
        dtype = torch.complex128 if root.is_complex() else torch.float64
        drawn = torch.rand(root.shape, generator=generator, dtype=dtype)
        cotangents.append(drawn.to(device=root.device, dtype=root.dtype))
    gradients = torch.autograd.grad(roots, [leaf for _, leaf in wanted], cotangents, allow_unused=True)
    for (number, _), gradient in zip(wanted, gradients, strict=True):
        values[f"gradient of input {number}"] = gradient


def copies(args: Sequence[Any], *, exact: bool = False) -> tuple[list[Any], list[Any]]:
    """Return the leaves that require gradients, or None, and copies of the inputs that alias each other as those do.

    Args:
        args: the inputs.
        exact: floating point numbers in double precision.

    Raises:
        NotImplementedError: an input is no plain tensor in memory.
    """
    import torch

    storages: dict[tuple[int, Any], Any] = {}
    leaves: list[Any] = []
    given: list[Any] = []
    for value in args:
        leaf, copy = None, value
        if isinstance(value, torch.Tensor):
            if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided:
                raise NotImplementedError(f"an input is a {type(value).__name__}")
            with torch.no_grad():
                copy = _copied(value.detach(), storages, exact=exact)
            if value.requires_grad:
                leaf = copy = copy.requires_grad_()
                if not value.is_leaf:
                    # A leaf may not be changed in place; what the program computed may.
                    copy = torch.clone(leaf, memory_format=torch.preserve_format)
        leaves.append(leaf)
        given.append(copy)
    return leaves, given


def _copied(value: Any, storages: dict[tuple[int, Any], Any], *, exact: bool) -> Any:
    import torch

    old = value.untyped_storage()
    dtype = {torch.complex64: torch.complex128}.get(value.dtype, torch.float64)
    dtype = dtype if exact and (value.is_floating_point() or value.is_complex()) else value.dtype
    key = (old.data_ptr(), value.dtype)
    if key not in storages:
        whole = torch.empty(0, dtype=value.dtype, device=value.device)
        whole.set_(old, 0, (old.nbytes() // value.element_size(),))
        storages[key] = whole.clone().to(dtype)
    return storages[key].as_strided(value.size(), value.stride(), value.storage_offset())


def _aliases(values: Sequence[Any]) -> list[int]:
    """Return for each tensor the first one with the same memory."""
    import torch

    first: dict[int, int] = {}
    groups = []
    for number, value in enumerate(values):
        pointer = value.untyped_storage().data_ptr() if isinstance(value, torch.Tensor) else 0
        groups.append(first.setdefault(pointer, number) if pointer else number)
    return groups


def _differences(ours: Outcome, theirs: Outcome, exact: Outcome | None) -> list[Any]:
    import torch

    differences: list[Any] = []
    for name in (name for name in ours if name in theirs):
        got, want = ours[name], theirs[name]
        if not isinstance(got, torch.Tensor) or not isinstance(want, torch.Tensor):
            if name == "aliases" and got != want:
                differences.append([name, "outputs share memory otherwise", None])
            elif (got is None) != (want is None):
                differences.append([name, f"{got!r:.60}, not {want!r:.60}", None])
            continue
        differences += [[name, how, size] for how, size in _compare(got, want, exact[name] if exact else None)]
    # Without a gradient there is none to compare: that it should be there is told of its root already.
    if not differences:
        differences += [[name, "of the compiled graph alone", None] for name in ours if name not in theirs]
        differences += [[name, "of eager alone", None] for name in theirs if name not in ours]
    return differences


def _compare(got: Any, want: Any, ideal: Any) -> Iterator[tuple[str, float | None]]:
    import torch

    for what in ("shape", "dtype", "requires_grad"):
        if getattr(got, what) != getattr(want, what):
            yield f"{what} {_told(getattr(got, what))}, not {_told(getattr(want, what))}", None
            return
    if got.layout is torch.strided and got.numel() > 1 and _strides(got) != _strides(want):
        yield f"strides {tuple(got.stride())}, not {tuple(want.stride())}", None
    got, want = got.detach(), want.detach()
    if torch.equal(got, want) or torch.allclose(got, want, rtol=0, atol=0, equal_nan=True):
        return
    if got.is_floating_point() and ideal is not None and is_near(got, want, ideal.detach().double()):
        return
    difference = (got.to(torch.float64) - want.to(torch.float64)).abs() if not got.is_complex() else (got - want).abs()
    finite = difference[torch.isfinite(difference)]
    yield "values", float(finite.max()) if finite.numel() else None


def _strides(value: Any) -> list[int]:
    """Return the strides that matter: those of dimensions with one element do not."""
    return [stride for stride, size in zip(value.stride(), value.shape, strict=True) if size > 1]


def _told(value: Any) -> str:
    return str(tuple(value)) if isinstance(value, tuple) else str(value)


def _digest(outcome: Outcome | str) -> str:
    """Return a digest of results to the bit."""
    import torch

    digest = hashlib.sha256()
    for name, value in outcome.items() if isinstance(outcome, dict) else [("raised", outcome)]:
        digest.update(name.encode())
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            digest.update(f"{value.shape} {value.stride()} {value.dtype}".encode())
            plain = value.detach().cpu().contiguous().flatten()
            digest.update(plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b"")
        else:
            digest.update(repr(value)[:200].encode())
    return digest.hexdigest()[:16]
