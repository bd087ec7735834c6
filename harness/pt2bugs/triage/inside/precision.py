"""Compare each call of a compiled function with the same call in eager and in double precision, inside a child.

As torch's own `same` does: a compiled result that is as near to the exact one as eager's differs by rounding alone.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

EQUAL, NEAR, FAR, UNKNOWN = "equal", "near", "far", "unknown"
_TIMES = 4
"""A compiled result may be so many times as far from the exact one as eager's; torch's own factor is 2 to 10."""
_TIMES_OF_NOISE = 10
"""The same where the exact result is less than eager's own error, as the gradient of a bias of attention's keys, which
is zero: what both compute is noise, whose size depends on the order of a sum."""
_ROUNDINGS = 2, 4
"""Roundings of a result in which it may differ besides, in the mean and at most."""
_ROUNDINGS_OF_SUMS = 32, 64
"""The same in single and double precision, in which sums are added up; what is narrower is added up in single."""


def measured(compiled: Any, original: Any, tell: Callable[[str, str], None]) -> Any:
    """Return a compiled function, or module, whose calls are compared.

    Args:
        compiled: What `torch.compile` made.
        original: What it was made of.
        tell: Gets a word for each call: ``equal``, ``near``, ``far``, or ``unknown`` where they cannot be compared; and
            the size of the difference in words, empty where there is none.
    """
    import torch

    if isinstance(compiled, torch.nn.Module):
        plain = type(original).forward.__get__(original) if isinstance(original, torch.nn.Module) else original
        compiled.forward = _measured(compiled.forward, plain, tell)
        return compiled
    return _measured(compiled, original, tell)


def _measured(compiled: Any, original: Any, tell: Callable[[str, str], None]) -> Any:
    import torch
    from torch.utils._pytree import tree_map

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        before = torch.get_rng_state()
        given = tree_map(_copied, (args, kwargs))
        result = compiled(*args, **kwargs)
        after = torch.get_rng_state()
        try:
            torch.set_rng_state(before)
            eager_args, eager_kwargs = tree_map(_copied, given)
            eager = original(*eager_args, **eager_kwargs)
            torch.set_rng_state(before)
            exact_args, exact_kwargs = tree_map(_exact, given)
            with double_precision():
                exact = original(*exact_args, **exact_kwargs)
            tell(*_compare(result, eager, exact))
        except Exception:
            tell(UNKNOWN, "")
        torch.set_rng_state(after)
        return result

    return call


def _copied(value: Any) -> Any:
    import torch

    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def _exact(value: Any) -> Any:
    """Return a copy of a tensor in double precision."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().clone()
    return value.double() if value.is_floating_point() else value.cfloat().cdouble() if value.is_complex() else value


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """Have every operator compute in double precision, whatever its inputs have.

    Functions widen their tensors before they compare the types of some; operators those that functions made.
    """
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_map

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            return value.double()
        if isinstance(value, torch.dtype) and value.is_floating_point:
            return torch.float64
        return value

    class Functions(TorchFunctionMode):  # type: ignore[misc,unused-ignore]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            writes = getattr(func, "__name__", "").endswith("_") or "out" in (kwargs or {})
            if not writes:
                args, kwargs = tree_map(widened, (args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    class Operators(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not func._schema.is_mutable:
                args, kwargs = tree_map(widened, (args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Functions(), Operators():
        yield


def _compare(result: Any, eager: Any, exact: Any) -> tuple[str, str]:
    """Return how near a result is to eager's, and the size of the first difference."""
    import torch
    from torch.utils._pytree import tree_leaves

    leaves = [tree_leaves(value) for value in (result, eager, exact)]
    if len({len(some) for some in leaves}) != 1:
        return FAR, f"{len(leaves[0])} results instead of {len(leaves[1])}"
    answer, size = EQUAL, ""
    for got, want, ideal in zip(*leaves, strict=True):
        if not isinstance(got, torch.Tensor):
            continue
        if not isinstance(want, torch.Tensor):
            return FAR, f"{_kind(got)} instead of a {type(want).__name__}"
        if (got.shape, got.dtype) != (want.shape, want.dtype):
            return FAR, f"{_kind(got)} instead of {_kind(want)}"
        if torch.equal(got, want) or torch.allclose(got, want, rtol=0, atol=0, equal_nan=True):
            continue
        unequal = got != want
        distance = float((got.detach().to(torch.complex128) - want.detach().to(torch.complex128)).abs().max())
        wrong = f"{int(unequal.sum())} of {got.numel()} elements of {_kind(got)} differ from eager's"
        size = size or f"{wrong}, by at most {distance:.3g}"
        if not got.is_floating_point() or not is_near(got.detach(), want.detach(), ideal.detach().double()):
            return FAR, size
        answer = NEAR
    return answer, size


def _kind(value: Any) -> str:
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def is_near(got: Any, want: Any, ideal: Any) -> bool:
    """Return whether a result is about as near to the exact one as eager's is.

    Args:
        got: The result.
        want: That of eager.
        ideal: That of eager in double precision.
    """
    import torch

    eps = torch.finfo(got.dtype).eps
    got, want = got.double(), want.double()
    finite = torch.isfinite(ideal)
    if not bool(torch.isfinite(got)[finite].all()) or not bool(torch.isfinite(want)[finite].all()):
        # An overflow in eager alone is rounding; one in the compiled program alone is not.
        return bool(torch.isfinite(got)[finite].all())
    if not bool((torch.isfinite(got) == finite).all()):
        return False
    got, want, ideal = got[finite], want[finite], ideal[finite]
    if not ideal.numel():
        return True
    sizes: tuple[Callable[[Any], Any], ...] = (
        lambda values: values.pow(2).mean().sqrt(),
        lambda values: values.abs().max(),
    )
    slacks = _ROUNDINGS if eps > torch.finfo(torch.float32).eps else _ROUNDINGS_OF_SUMS
    for size, slack in zip(sizes, slacks, strict=True):
        of_eager, exact = float(size(want - ideal)), float(size(ideal))
        times = _TIMES_OF_NOISE if exact < of_eager else _TIMES
        if float(size(got - ideal)) > times * of_eager + slack * eps * exact:
            return False
    return True
