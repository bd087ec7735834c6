# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/138698"
# fix = "https://github.com/pytorch/pytorch/pull/145479"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "_foreach_pow with keyword arguments fails in the trace"
# component = "decomposition"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'builtin\.py:\d+ call_getattr'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'TorchInGraphFunctionVariable\._get_handlers\.<locals>\.handle_foreach_pow_scalar\(\) got multip'
# ///
"""The decomposition names its arguments otherwise than the operator's schema does, so that a call by name does not reach
it. Correct: the power of each tensor.
Source: pytorch issue 138698; a regression test of PyTorch's names it.
"""

import torch


def powers(**arguments: object) -> list[torch.Tensor]:
    return torch._foreach_pow(**arguments)


def test_arguments_by_name(device: str, backend: str) -> None:
    base = torch.full((2, 2), 3.0, device=device)
    out = torch.compile(powers, backend=backend, fullgraph=True)(self=[base], exponent=2.0)
    torch.testing.assert_close(out[0], base * base, rtol=0, atol=0)


if __name__ == "__main__":
    test_arguments_by_name("cpu", "eager")
