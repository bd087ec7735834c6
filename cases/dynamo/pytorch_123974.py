# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/123974"
# fix = "https://github.com/pytorch/pytorch/pull/124210"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "list.reverse is not traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_method ListVariable\(\) reverse \[\] \{\}'
# ///
"""The method changes the list in place, and Dynamo had no rule for it. Correct: one graph, which goes through the weights
and back.
Source: pytorch issue 123974.
"""

import torch


def there_and_back(x: torch.Tensor) -> torch.Tensor:
    weights = [torch.ones(4, 3), torch.ones(3, 2)]
    for weight in weights:
        x = x @ weight
    weights.reverse()
    for weight in weights:
        x = x @ weight.t()
    return x


def test_list_is_reversed(backend: str) -> None:
    x = torch.ones(3, 4)
    actual = torch.compile(there_and_back, backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, there_and_back(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_list_is_reversed("eager")
