"""A captured graph as text that needs torch alone, and its inputs as metadata; and the graph made anew from them.

Inputs are drawn anew between the least and the largest value that each had. No other value leaves the program.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

Described = dict[str, Any]
"""A graph or a value as plain types."""
MAX_ELEMENTS = 1 << 28
_SEED = 0


class CannotDescribeError(Exception):
    """A graph that torch alone cannot run, with the reason."""


class Capture:
    """Writes down the graphs of a process with the metadata of their inputs.

    Args:
        tell: gets the kind of an entry and its values.
    """

    INPUTS = 3
    """Calls with other shapes that are kept of a graph."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._count = 0

    def around(self, compiled: Callable[..., Any], graph: Described, place: str, backend: str) -> Callable[..., Any]:
        """Return a compiled graph whose inputs are written down, once for each of their shapes.

        Args:
            compiled: what the backend made.
            graph: as `described` returned it, before the backend changed it.
            place: in the program.
            backend: its name.
        """
        import torch

        self._count += 1
        number, seen = self._count, set[str]()
        self._tell("graph", number=number, graph=graph, place=place, backend=backend)

        def call(*args: Any) -> Any:
            if len(seen) < self.INPUTS:
                try:
                    shapes = repr([tuple(value.shape) for value in args if isinstance(value, torch.Tensor)])
                    if shapes not in seen:
                        seen.add(shapes)
                        inputs = described_values(args)
                        self._tell("inputs", number=number, inputs=inputs, grad=torch.is_grad_enabled())
                except Exception as error:
                    self._tell("not captured", place=place, reason=str(error)[:300])
            return compiled(*args)

        return call


# --- a graph as text ------------------------------------------------------------------------------------


def described(module: Any) -> Described:
    """Return a graph module as text with what it refers to.

    Args:
        module: of Dynamo.

    Raises:
        CannotDescribeError: it needs what torch alone does not have.
    """
    import torch

    code = module.graph.python_code("self")
    attributes: dict[str, Described] = {}
    for node in module.graph.nodes:
        if node.op in ("get_attr", "call_module") and node.target not in attributes:
            value = module
            for name in str(node.target).split("."):
                value = getattr(value, name)
            if isinstance(value, torch.fx.GraphModule):
                attributes[node.target] = {"graph": described(value)}
            elif isinstance(value, torch.Tensor):
                attributes[node.target] = {"tensor": described_values([value])[0]}
            else:
                raise CannotDescribeError(f"it has a {type(value).__name__} of its own")
    return {
        "text": code.src,
        "names": {name: _named(value) for name, value in code.globals.items()},
        "attributes": attributes,
        "nodes": len(module.graph.nodes),
        "is_dynamic": any(
            isinstance(node.meta.get("example_value"), torch.SymInt)
            for node in module.graph.nodes
            if node.op == "placeholder"
        ),
    }


def _named(value: Any) -> list[str]:
    """Return module and name under which torch or the standard library has something."""
    if isinstance(value, types.ModuleType):
        where = [value.__name__, ""]
    elif isinstance(value, float):
        return ["float", repr(value)]
    elif value is type(None):
        return ["types", "NoneType"]
    else:
        where = [str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", ""))]
    if where[0].partition(".")[0] not in ("torch", "_operator", "operator", "math", "builtins", "types"):
        raise CannotDescribeError(f"it calls {'.'.join(filter(None, where)) or type(value).__name__}")
    return where


def described_values(values: Sequence[Any]) -> list[Described]:
    """Return values as metadata; tensors that share memory name the same storage.

    Args:
        values: inputs of a graph.

    Raises:
        CannotDescribeError: one is neither a plain tensor nor a number.
    """
    import torch

    storages: dict[int, int] = {}
    result: list[Described] = []
    for value in values:
        if value is None or isinstance(value, (bool, int, float)):
            result.append({"value": value})
        elif type(value) in (torch.SymInt, torch.SymFloat, torch.SymBool):
            raise CannotDescribeError("an input has no value yet")
        elif type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided:
            raise CannotDescribeError(f"an input is a {type(value).__name__}")
        else:
            storage = value.untyped_storage()
            result.append(
                {
                    "shape": list(value.shape),
                    "stride": list(value.stride()),
                    "offset": value.storage_offset(),
                    "dtype": str(value.dtype).rpartition(".")[2],
                    "device": value.device.type,
                    "requires_grad": value.requires_grad,
                    "is_leaf": value.is_leaf,
                    "storage": storages.setdefault(storage.data_ptr() or -len(storages) - 1, len(storages)),
                    "elements": storage.nbytes() // max(1, value.element_size()),
                    "between": _bounds(value),
                }
            )
    return result


def _bounds(value: Any) -> list[float]:
    import torch

    value = value.detach()
    if not value.numel() or value.is_complex() or value.dtype is torch.bool:
        return [0, 1]
    if value.is_floating_point():
        value = value.double()
        value = value[torch.isfinite(value)]
        return [float(value.min()), float(value.max())] if value.numel() else [-1, 1]
    return [int(value.min()), int(value.max())]


# --- the graph anew -------------------------------------------------------------------------------------


def made(graph: Described) -> Any:
    """Return a module that computes a described graph.

    Args:
        graph: as `described` returned it.

    Raises:
        Exception: this torch lacks what the graph calls.
    """
    import importlib

    import torch

    names: dict[str, Any] = {}
    for name, (module, attribute) in graph["names"].items():
        if module == "float":
            names[name] = float(attribute)
            continue
        value: Any = importlib.import_module(module)
        for part in attribute.split(".") if attribute else ():
            value = getattr(value, part)
        names[name] = value
    code = compile(graph["text"], "<graph>", "exec", dont_inherit=True)
    exec(code, names)
    forward: Callable[..., Any] = names["forward"]
    root = type("Graph", (torch.nn.Module,), {"forward": forward})()
    for target, told in graph["attributes"].items():
        *owners, last = target.split(".")
        owner = root
        for name in owners:
            if not hasattr(owner, name):
                setattr(owner, name, torch.nn.Module())
            owner = getattr(owner, name)
        if "graph" in told:
            setattr(owner, last, made(told["graph"]))
        else:
            owner.register_buffer(last, made_values([told["tensor"]])[0])
    return root


def made_values(values: Sequence[Described]) -> list[Any]:
    """Return values made anew from metadata, always the same ones.

    Args:
        values: as `described_values` returned them.

    Raises:
        CannotDescribeError: they take more memory than a replay may.
    """
    import torch

    generator = torch.Generator().manual_seed(_SEED)
    storages: dict[tuple[int, str], Any] = {}
    result: list[Any] = []
    for told in values:
        if "value" in told:
            result.append(told["value"])
            continue
        if told["elements"] > MAX_ELEMENTS:
            raise CannotDescribeError("an input is too large to be made anew")
        key = (told["storage"], told["dtype"])
        if key not in storages:
            storages[key] = _drawn(told, generator)
        value = storages[key].as_strided(told["shape"], told["stride"], told["offset"])
        if told["requires_grad"]:
            value = value.detach().requires_grad_()
            value = value if told["is_leaf"] else torch.clone(value, memory_format=torch.preserve_format)
        result.append(value)
    return result


def _drawn(told: Described, generator: Any) -> Any:
    import torch

    dtype, (low, high) = getattr(torch, told["dtype"]), told["between"]
    size = (told["elements"],)
    if dtype.is_floating_point or dtype.is_complex:
        values = torch.rand(size, generator=generator, dtype=torch.float64) * (high - low) + low
        return values.to(dtype=dtype, device=told["device"])
    values = torch.randint(int(low), int(high) + 1, size, generator=generator, dtype=torch.int64)
    return values.to(dtype=dtype, device=told["device"])
