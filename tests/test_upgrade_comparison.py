"""Eager against compiled, on the installed torch: what counts as a difference, and what is rounding."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from pt2bugs.triage.inside.precision import is_near
from pt2bugs.upgrade.inside.comparison import compare, copies
from pt2bugs.upgrade.inside.graphs import CannotDescribeError, described_values, made_values


def anew(*values: Any) -> list[Any]:
    """The inputs as a replay makes them: through metadata, and through JSON."""
    return made_values(json.loads(json.dumps(described_values(values))))


def differences(eager: Callable[..., Any], other: Callable[..., Any], args: Sequence[Any]) -> list[tuple[str, str]]:
    told, _ = compare(eager, other, args)
    return [(what, how) for what, how, _ in told]


def test_aliased_inputs_share_memory_again() -> None:
    base = torch.rand(6)
    whole, part = anew(base, base[1:4])
    whole.zero_()
    assert part.tolist() == [0, 0, 0]
    (_, given) = copies([whole, part])
    given[0].fill_(2)
    assert given[1].tolist() == [2, 2, 2]
    assert whole.sum() == 0, "the inputs themselves stay as they are"

    def eager(x: Any, y: Any) -> Any:
        x.add_(1)
        return y * 2

    def forgets(x: Any, y: Any) -> Any:
        result = y * 2
        x.add_(1)
        return result

    assert differences(eager, eager, [whole, part]) == []
    assert differences(eager, forgets, [whole, part]) == [("output 0", "values")]


def test_strided_inputs_keep_their_strides() -> None:
    (made,) = anew(torch.rand(4, 6).t()[1:, ::2])
    assert (made.shape, made.stride(), made.storage_offset()) == ((5, 2), (1, 12), 1)
    assert differences(lambda x: x + 1, lambda x: (x + 1).contiguous(), [made]) == [
        ("output 0", "strides (2, 1), not (1, 5)")
    ]
    (expanded,) = anew(torch.rand(1, 3).expand(4, 3))
    assert expanded.stride() == (0, 1)


def test_what_a_call_does_to_its_inputs_is_compared() -> None:
    (x,) = anew(torch.rand(3))

    def eager(x: Any) -> Any:
        return x.mul_(2).sum()

    assert differences(eager, lambda x: (x * 2).sum(), [x]) == [("input 0 afterwards", "values")]

    def view(x: Any) -> Any:
        return x[1:]

    assert differences(view, lambda x: x[1:].clone(), [x]) == [("aliases", "outputs share memory otherwise")]


@pytest.mark.parametrize("is_leaf", [True, False])
def test_the_backward_is_compared(is_leaf: bool) -> None:
    x = torch.rand(3, requires_grad=True)
    (made,) = anew(x if is_leaf else x * 1)
    assert (made.requires_grad, made.is_leaf) == (True, is_leaf)

    class Wrong(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * 2

    assert differences(lambda x: x * 3, Wrong.apply, [made]) == [("gradient of input 0", "values")]
    assert differences(lambda x: x * 3, lambda x: (x * 3).detach(), [made]) == [
        ("output 0", "requires_grad False, not True")
    ]


def test_rounding_is_told_from_a_difference_by_double_precision() -> None:
    """A sum in another order is as near to the exact one as eager's; one in half precision is not."""
    (x,) = anew(torch.rand(100, 100))

    def eager(x: Any) -> Any:
        return x.sum(0)

    def other_order(x: Any) -> Any:
        return x.flip(0).cumsum(0)[-1]

    assert not torch.equal(eager(x), other_order(x)), "they do differ in the last digits"
    assert differences(eager, other_order, [x]) == []
    assert differences(eager, lambda x: x.half().sum(0).float(), [x]) == [("output 0", "values")]


def test_noise_about_zero_depends_on_the_order_of_a_sum() -> None:
    """As the gradient of a bias of attention's keys: it is zero, and eager has no digit of it."""
    exact = torch.zeros(64, dtype=torch.float64)
    eager = torch.full((64,), 1e-6)
    assert is_near(6 * eager, eager, exact)
    assert not is_near(20 * eager, eager, exact)
    assert not is_near(eager + 1.006, eager + 1.001, exact + 1), "of one eager has digits"


def test_a_sum_may_have_many_roundings_where_eager_has_few() -> None:
    exact = torch.ones(64, dtype=torch.float64)
    rounding = 2.0**-23
    assert is_near((exact + 20 * rounding).float(), exact.float(), exact)
    assert not is_near((exact + 200 * rounding).float(), exact.float(), exact)
    assert not is_near((exact + 20 * 2.0**-7).bfloat16(), exact.bfloat16(), exact), "narrow sums are added up wide"


def test_the_reference_in_double_precision_has_the_values_of_the_inputs() -> None:
    """It once read the memory of floats as doubles, and then any result was as near to it as eager's."""
    args = anew(torch.tensor([0.1, 0.2, 0.3]))
    ((what, how, size),) = compare(lambda x: x + 1, lambda x: x + 1.5, args)[0]
    assert (what, how) == ("output 0", "values")
    assert size == pytest.approx(0.5)
    (_, (exact,)) = copies(args, exact=True)
    assert exact.dtype is torch.float64
    assert exact.tolist() == pytest.approx(args[0].tolist(), rel=1e-12)


def test_what_only_one_side_refuses() -> None:
    def refuses(x: Any) -> Any:
        raise IndexError("row -1")

    (x,) = anew(torch.rand(2))
    assert differences(lambda x: x, refuses, [x]) == [
        ("call", "the compiled graph raises IndexError: row -1, eager does not")
    ]
    assert differences(refuses, lambda x: x, [x]) == [
        ("call", "eager raises IndexError: row -1, the compiled graph does not")
    ]
    assert differences(refuses, refuses, [x]) == []


def test_values_are_drawn_anew_between_the_bounds_and_nothing_else_is_kept() -> None:
    rows, flags, x = anew(torch.tensor([3, 9, 5]), torch.tensor([True, False]), torch.full((2, 2), 7.0))
    assert rows.dtype is torch.int64
    assert int(rows.min()) >= 3
    assert int(rows.max()) <= 9
    assert flags.dtype is torch.bool
    assert x.tolist() == [[7.0, 7.0], [7.0, 7.0]]
    assert described_values([torch.tensor([0.25])]) == described_values([torch.tensor([0.25])])
    with pytest.raises(CannotDescribeError, match="an input is a Tensor"):
        described_values([torch.eye(2).to_sparse()])
