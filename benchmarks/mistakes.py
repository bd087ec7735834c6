"""Ordinary mistakes of users, whose failures are no bug of torch: what `pt2bugs match` must not call known.

python benchmarks/mistakes.py DIR                with the torch of this Python: a traceback of each, as a file
python benchmarks/match.py --others DIR          how many of them are called known
"""

from __future__ import annotations

import argparse
import collections
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

Mistake = Callable[[], object]
MISTAKES: dict[str, Mistake] = {}
ones = torch.ones


def mistake(function: Mistake) -> Mistake:
    MISTAKES[function.__name__] = function
    return function


def leaf(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, requires_grad=True)


def compiled(function: Any, *, backend: Any = "eager", **options: Any) -> Any:
    return torch.compile(function, backend=backend, **options)


def whole(function: Any) -> Any:
    return compiled(function, fullgraph=True)


class Module(torch.nn.Module):
    """A module of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class Plain:
    """An object without any of what is asked of it."""


class Doubled(torch.autograd.Function):
    """In the old style, which functorch refuses."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient[:1]


def outside(function: Any) -> Any:
    """A function that Dynamo leaves to Python."""
    return torch._dynamo.disable(function)


def with_meta(x: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(x, device="meta")


# Each says in its name what is wrong with it. Those that run in compiled code come from different layers.
SHORT: dict[str, Mistake] = {
    "dimensions_of_a_product": lambda: compiled(lambda a, b: a @ b, backend="aot_eager")(ones(2, 3), ones(4, 5)),
    "dimensions_of_a_sum": lambda: compiled(lambda a, b: a.add_(b), backend="aot_eager")(ones(4), ones(8)),
    "size_of_a_view": lambda: compiled(lambda a: a.view(7), backend="aot_eager")(ones(2, 3)),
    "dimensions_of_an_expand": lambda: compiled(lambda a: a.expand(3), backend="aot_eager")(ones(2, 3)),
    "dimensions_of_a_copy": lambda: compiled(lambda a, b: b.copy_(a), backend="aot_eager")(ones(2, 3), ones(3)),
    "dimensions_of_a_copy_in_eager": lambda: ones(3).copy_(ones(2, 3)),
    "dimension_that_is_not_there": lambda: compiled(lambda x: x.sum(dim=5))(ones(2)),
    "dimension_that_is_not_there_in_eager": lambda: ones(2).sum(dim=5),
    "index_of_an_embedding": lambda: compiled(
        lambda w: torch.nn.functional.embedding(torch.tensor([5]), w), backend="aot_eager"
    )(ones(2, 2)),
    "devices": lambda: compiled(lambda a: a * with_meta(a))(ones(2)),
    "devices_the_other_way": lambda: compiled(lambda a, b: a * b)(ones(2, device="meta"), ones(2)),
    "devices_of_a_module": lambda: compiled(torch.nn.Linear(2, 2, device="meta"))(ones(2, 2)),
    "unused_input": lambda: torch.autograd.grad(leaf(3).sum(), leaf(3)),
    "unused_input_of_a_compiled_function": lambda: torch.autograd.grad(
        compiled(lambda a, b: (a * 2, b * 3), backend="aot_eager")(leaf(3), leaf(3))[0].sum(), leaf(3)
    ),
    "no_gradient": lambda: compiled(lambda x: x.detach(), backend="aot_eager")(leaf(3)).sum().backward(),
    "shape_of_a_gradient": lambda: compiled(lambda a: a * 2, backend="aot_eager")(leaf(4)).backward(ones(8)),
    "shape_of_an_own_gradient": lambda: compiled(Doubled.apply, backend="aot_eager")(leaf(3)).sum().backward(),
    "leaf_in_place": lambda: compiled(lambda x: x.add_(1), backend="aot_eager")(leaf(3)),
    "old_autograd_function": lambda: torch.func.grad(lambda x: Doubled.apply(x).sum())(ones(2)),
    "slice_by_a_float": lambda: compiled(lambda x, n: x[:n] + 1)(ones(5), 2.5),
    "slice_by_an_object": lambda: compiled(lambda x, n: x[:n] + 1)(ones(5), Plain()),
    "slice_by_a_float_outside": lambda: compiled(lambda x: outside(lambda y: y[:2.5])(x) + 1)(ones(5)),
    "next_of_a_tuple": lambda: compiled(lambda x: x + next((1, 2)))(ones(5)),
    "next_of_a_tuple_outside": lambda: compiled(lambda x: x + outside(lambda: next((1, 2)))())(ones(5)),
    "nothing_times_three": lambda: compiled(lambda x, n: x + n * 3)(ones(3), None),
    "nothing_times_three_in_a_whole_graph": lambda: whole(lambda x, n: x + n * 3)(ones(3), None),
    "tensor_and_nothing": lambda: whole(lambda x, n: x + n)(ones(3), None),
    "item_of_nothing": lambda: whole(lambda x, n: x + n[0])(ones(3), None),
    "attribute_of_nothing": lambda: compiled(lambda x, n: x + n.shape[0], backend="aot_eager")(ones(2), None),
    "attribute_that_is_not_there": lambda: whole(lambda x, n: x + n.value)(ones(2), Plain()),
    "index_of_a_list": lambda: whole(lambda x, n: x + n[3])(ones(3), [1]),
    "key_of_a_dict": lambda: whole(lambda x, n: x + n["value"])(ones(3), {}),
    "key_of_a_dict_outside": lambda: compiled(lambda x: outside(lambda: {}["val"])())(ones(2)),
    "key_of_a_defaultdict": lambda: whole(lambda x, d: x + d[1])(ones(3), collections.defaultdict()),
    "assertion_of_a_module": lambda: compiled(Module(lambda x: outside(assert_three)(x)))(ones(2)),
    "round_of_an_array": lambda: compiled(lambda x, a: x + round(a))(ones(2), np.array([1.5, 2.5])),
    "round_of_an_array_in_eager": lambda: round(np.array([1.5, 2.5])),
    "format_of_a_text": lambda: compiled(lambda x, n: (f"{n:d}", x + 1))(ones(2), "a"),
    "argument_left_out": lambda: whole(lambda x: (lambda y, step: y + step)(x))(ones(2)),
    "numpy_of_a_gradient": lambda: whole(lambda x: x.numpy())(leaf(3)),
    "branch_on_data": lambda: whole(lambda x: x + 1 if x.sum() > 0 else x)(ones(2)),
    "item_in_vmap": lambda: torch.vmap(compiled(lambda x: x.item() + 1))(ones(3)),
    "close_to_something_else": lambda: torch.testing.assert_close(compiled(lambda x: x + 1)(ones(2)), ones(2)),
    "fx_trace_of_a_compiled_module": lambda: torch.fx.symbolic_trace(compiled(torch.nn.Linear(2, 2))),
    "fx_trace_that_calls_a_compiled_function": lambda: torch.fx.symbolic_trace(Module(compiled(lambda x: x + 1)))(
        ones(2)
    ),
    "jit_trace_of_a_compiled_module": lambda: torch.jit.trace(compiled(torch.nn.Linear(2, 2)), ones(2, 2)),
    "export_without_tensor_operations": lambda: torch.export.export(Module(lambda x: 3), (ones(3),)),
    "shapes_of_one_input_too_few": lambda: torch.export.export(
        Module(lambda x, y: x + y), (ones(2), ones(2)), dynamic_shapes=({0: torch.export.Dim("a")},)
    ),
    "shapes_of_a_dict_for_a_tuple": lambda: torch.export.export(
        Module(lambda x: x[0]), ((ones(2), ones(2)),), dynamic_shapes=(({"x": {0: torch.export.Dim("a")}},),)
    ),
    "cond_of_other_shapes": lambda: whole(
        lambda x: torch.cond(x.sum() > 0, lambda y: y[:1] + 1, lambda y: y - 1, (x,))
    )(ones(2)),
}


def assert_three(x: torch.Tensor) -> None:
    assert x.shape[0] == 3


@mistake
def backend_that_makes_invalid_code() -> None:
    def backend(graph_module: torch.fx.GraphModule, _: list[Any]) -> Any:
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                node.name = node.target = "1 x"
        graph_module.recompile()
        return graph_module

    compiled(lambda x: x + 1.5, backend=backend)(ones(2))


@mistake
def state_overwritten_before_backward() -> None:
    state, weight = torch.zeros(4), leaf(4)
    out = compiled(lambda h, w: h * w, backend="aot_eager")(state, weight)
    state.copy_(out)
    out.sum().backward()


@mistake
def input_changed_before_backward() -> None:
    x = leaf(4).clone()
    out = compiled(lambda a, b: a * b, backend="aot_eager")(x, leaf(4))
    x.add_(1)
    out.sum().backward()


@mistake
def parameter_changed_before_backward() -> None:
    module = torch.nn.Linear(3, 3)
    out = compiled(module, backend="aot_eager")(leaf(2, 3))
    with torch.no_grad():
        module.weight.add_(1)
    out.sum().backward()


@mistake
def backward_twice() -> None:
    out = compiled(lambda a: (a * a).sum(), backend="aot_eager")(leaf(4))
    out.backward()
    out.backward()


@mistake
def class_as_a_context_after_a_graph_break() -> None:
    def block(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        with Plain:  # type: ignore[attr-defined]
            return x * 2

    compiled(block)(ones(5))


@mistake
def fx_trace_of_a_module_compiled_in_place() -> None:
    module = torch.nn.Linear(2, 2)
    module.compile(backend="eager")
    torch.fx.symbolic_trace(torch.nn.Sequential(module))(ones(2, 2))


@mistake
def gradient_of_a_custom_operator_without_context() -> None:
    @torch.library.custom_op("mistakes::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_autograd(lambda ctx, gradient: gradient * 2)
    torch.func.grad(lambda x: double(x).sum())(ones(2))


@mistake
def fake_and_real() -> None:
    real = ones(3)
    with FakeTensorMode():
        torch.where(ones(3) > 0, ones(3), real)


@mistake
def fake_and_real_scalar() -> None:
    real = torch.tensor(0.0)
    with FakeTensorMode():
        torch.where(ones(3) > 0, ones(3), real)


@mistake
def fake_on_two_devices() -> None:
    with FakeTensorMode():
        ones(2).mul_(ones(2, device="meta"))


@mistake
def backend_that_asserts() -> None:
    def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
        raise AssertionError

    compiled(lambda x: x + 1, backend=backend)(ones(2))


@mistake
def backend_that_takes_numbers_for_nodes() -> None:
    def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
        return [argument.meta for node in module.graph.nodes for argument in node.args]

    compiled(lambda x: x + 1.5, backend=backend)(ones(2))


@mistake
def backend_with_an_empty_list() -> None:
    compiled(lambda x: x + 1, backend=lambda module, inputs: [][0])(ones(2))


@mistake
def loop_whose_carry_changes_its_shape() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    start = (torch.tensor(0), ones(3, 3))
    whole(lambda i, x: while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x[:1]), (i, x)))(*start)


@mistake
def too_many_recompilations() -> None:
    add = whole(lambda x, n: x + n)
    for n in range(30):
        add(ones(2 + n), n)


def failures() -> Iterator[tuple[str, str]]:
    """The name and the traceback of each mistake that fails with this torch."""
    for name, function in {**SHORT, **MISTAKES}.items():
        torch._dynamo.reset()
        try:
            function()
        except Exception:
            yield name, traceback.format_exc()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    failed = dict(failures())
    for name, text in failed.items():
        (folder / f"{name}-{torch.__version__}.txt").write_text(text)
    print(f"{len(failed)} of {len(SHORT) + len(MISTAKES)} fail with torch {torch.__version__}")


if __name__ == "__main__":
    main()
