# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194593"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "kl_divergence of two Binomials breaks the graph"
# component = "dynamo"
# symptom = "graph-break"
# # The thread is labelled as an enhancement: support of fullgraph.
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'distributions\.binomial\.Binomial'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'constant fold exception: KeyError[\s\S]*distributions\.binomial\.Binomial'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = 'Dynamic control flow is not supported at the moment[\s\S]*_kl_binomial_binomial'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Data-dependent branching[\s\S]*_kl_binomial_binomial'
#
# [[tool.pt2bugs.bug]]
# blocked = true
# torch = "<2.2"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'UNPACK_SEQUENCE ListIteratorVariable\(\)'
# ///
"""The divergence is defined for equal numbers of trials, and the code asks of tensors, with a branch on their values, whether
some differ. Correct: the divergence, from one graph.
Source: pytorch issue 194593.
"""

import torch
from torch.distributions import Binomial, kl_divergence


def divergence(trials: torch.Tensor, p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    first, second = (Binomial(total_count=trials, probs=probs, validate_args=False) for probs in (p, q))
    return kl_divergence(first, second)


def test_equal_numbers_of_trials(device: str, backend: str) -> None:
    args = [torch.tensor([value], device=device) for value in (3.0, 0.25, 0.5)]
    actual = torch.compile(divergence, backend=backend, fullgraph=True)(*args)
    torch.testing.assert_close(actual, divergence(*args))


if __name__ == "__main__":
    test_equal_numbers_of_trials("cpu", "eager")
