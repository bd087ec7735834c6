# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/190758"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "With an activation memory budget the backward draws a dropout mask of its own"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager_decomp_partition"]
# labels = ["checkpoint"]
# demands = ["training", "randomness"]
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'gradient and output have different dropout masks: \d+ of 256 places'
# ///
"""activation_memory_budget asks the partitioner of AOTAutograd for automatic checkpointing: values of the forward
are computed again in the backward graph. With a budget of 0 it saves only the inputs and returns before the rule
that random operations are never recomputed, so the mask is drawn a second time. Correct: the gradient is zero
exactly where the forward dropped the element, as in eager. Source: pytorch issue 190758, PR 190759 (open).
"""

import torch
import torch._functorch.config as functorch_config


def drop(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout(x.exp(), 0.5).sin().exp()


def test_mask_of_the_forward_is_that_of_the_backward(device: str, backend: str) -> None:
    torch.manual_seed(0)
    x = torch.full((256,), 0.25, device=device, requires_grad=True)
    with functorch_config.patch(activation_memory_budget=0.0):
        y = torch.compile(drop, backend=backend)(x)
        y.sum().backward()
    kept, moved = y.detach() != 1, x.grad != 0
    wrong = int((kept != moved).sum())
    assert wrong == 0, f"gradient and output have different dropout masks: {wrong} of 256 places"


if __name__ == "__main__":
    test_mask_of_the_forward_is_that_of_the_backward("cpu", "aot_eager_decomp_partition")
