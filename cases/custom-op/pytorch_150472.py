# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150472"
# fix = "https://github.com/pytorch/pytorch/pull/155447"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A custom operator that returns a tuple of one tensor does not compile"
# component = "custom-op"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.4"
# demands = ["custom-op"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'call_function pt2bugs_150472\.successor[\s\S]*Unable to cast'
# ///
"""The schema of the operator has one tensor in a tuple, the graph's node has the bare tensor: an unpacking in Inductor takes
the tensor apart. Correct: the value of the operator.
Source: pytorch issue 150472; a regression test of PyTorch's names it.
"""

import torch


@torch.library.custom_op("pt2bugs_150472::successor", mutates_args=())
def successor(x: torch.Tensor) -> tuple[torch.Tensor]:
    return (x + 1,)


@successor.register_fake
def _(x: torch.Tensor) -> tuple[torch.Tensor]:
    return (torch.empty_like(x),)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return successor(x)[0] * 2


def test_tuple_of_one(device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device)
    torch.testing.assert_close(torch.compile(doubled, backend=backend, fullgraph=True)(x), (x + 1) * 2)


if __name__ == "__main__":
    test_tuple_of_one("cpu", "eager")
