# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/97524"
# title = "convolution_backward gives None where its schema says Tensor, and None becomes a graph output"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# requires-torch = ">=2.1"
# guard = true
# ///
"""`aten.convolution_backward` returns None for every False of its output_mask; its schema says Tensor.

C++ calls this an undefined tensor; an importer that types results by the schema is wrong about it. A conv
whose input needs no gradient also puts a literal None into the outputs of its backward graph. The guard:
None stands exactly where the mask is False, eagerly and in the graph's recorded values, and the gradients
are eager's, so that an importer may rely on the mask. Tried: every mask a conv layer can produce, recording
backend, torch 2.1.2 to 2.15.0. Source: pytorch issue 97524, llvm/torch-mlir PR 1773. The real backend:
turbine_none_outputs.
"""

from collections.abc import Callable

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


def _check(device: str, mask: list, outputs: list) -> None:
    torch.manual_seed(0)
    graphs: list = []

    def recording(gm: torch.fx.GraphModule, example_inputs: list) -> Callable:
        graphs.append(gm)
        return make_boxed_func(gm.forward)

    ones = [torch.ones(size, device=device) for size in ((1, 3, 3, 3), (1, 2, 5, 5), (3, 2, 3, 3))]
    geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    result = torch.ops.aten.convolution_backward.default(*ones, [3], *geometry, mask)
    assert [value is not None for value in result] == mask, mask
    module = torch.nn.Conv2d(2, 3, 3, bias=mask[2]).to(device)
    eager = torch.randn(1, 2, 5, 5, device=device, requires_grad=mask[0])
    module(eager).sum().backward()
    expected = [eager.grad, *(parameter.grad for parameter in module.parameters())]
    module.zero_grad()
    compiled = eager.detach().clone().requires_grad_(mask[0])
    compiled_module = torch.compile(lambda x: module(x), backend=aot_autograd(fw_compiler=recording))
    compiled_module(compiled).sum().backward()
    actual = [compiled.grad, *(parameter.grad for parameter in module.parameters())]
    for mine, theirs in zip(actual, expected):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            torch.testing.assert_close(mine, theirs)

    nodes = list(graphs[-1].graph.nodes)
    (conv,) = [node for node in nodes if node.target is torch.ops.aten.convolution_backward.default]
    assert list(conv.args[-1]) == mask, conv.args
    assert [value is not None for value in conv.meta["val"]] == mask, conv.meta["val"]
    assert sorted(value is not None for value in nodes[-1].args[0]) == sorted(outputs), nodes[-1].args


def test_no_bias(device: str) -> None:
    _check(device, [True, True, False], [True, True])


def test_input_without_gradient(device: str) -> None:
    _check(device, [False, True, True], [True, True, False])


def test_all_gradients(device: str) -> None:
    _check(device, [True, True, True], [True, True, True])


if __name__ == "__main__":
    test_no_bias("cpu")
    test_input_without_gradient("cpu")
    test_all_gradients("cpu")
