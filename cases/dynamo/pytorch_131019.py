# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/131019"
# fix = "https://github.com/pytorch/pytorch/pull/154645"
# title = "uniform_ with from as a keyword: the generated code is no Python"
# component = "dynamo"
# symptom = "internal-error"
# upstream = "closed"
# upstream-seen = 2026-11-24
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = ["mutation", "randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'invalid syntax \(<eval_with_key>\.\d+, line 7\)'
#
# [[tool.pt2bugs.bug]]
# # 2.0 gives its exception no message.
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'graph_module\.py:\d+ _exec_with_source'
# ///
"""The first bound of uniform_ is named from in its schema, a word of Python. As a keyword it is written into the code
of the graph as from=..., which does not parse. Correct: values of the interval, by a graph break if need be.
Source: pytorch issue 131019 (121621 for random_).
"""

import torch


def filled(x: torch.Tensor, args: list[int], kwargs: dict[str, int]) -> torch.Tensor:
    return (x + 1).uniform_(*args, **kwargs)


def test_keyword_named_from(device: str, backend: str) -> None:
    out = torch.compile(filled, backend=backend)(torch.zeros(8, device=device), [], {"from": 2, "to": 3})
    low, high = out.min().item(), out.max().item()
    assert 2 <= low <= high <= 3, f"values between {low} and {high} are not of the interval from 2 to 3"


if __name__ == "__main__":
    test_keyword_named_from("cpu", "eager")
