# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/133529"
# fix = "https://github.com/pytorch/pytorch/pull/137809"
# title = "Dynamo passes ctx to the forward of an autograd.Function under vmap that has setup_context"
# component = "functorch"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["autograd-function"]
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.ArgsMismatchError"
# match = "too many positional arguments\\.\\s+func = 'forward'"
# ///
"""An autograd.Function with setup_context has a forward without ctx. Where no gradient seems to be needed, as under
vmap, Dynamo calls the forward directly and gives it a ctx all the same: one argument too many. Correct: one graph with
eager's values. Source: pytorch issue 133529.
"""

import torch


class Clamp(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, limit: float) -> torch.Tensor:
        return x.clamp(-limit, limit)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        pass

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad, None


def mapped(x: torch.Tensor) -> torch.Tensor:
    return torch.vmap(lambda row: Clamp.apply(row, 1.0))(x)


def test_forward_without_ctx(device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device)
    assert torch.compile(mapped, backend=backend, fullgraph=True)(x).tolist() == mapped(x).tolist()


if __name__ == "__main__":
    test_forward_without_ctx("cpu", "eager")
