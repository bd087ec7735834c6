# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/142853"
# fix = "https://github.com/pytorch/pytorch/pull/143460"
# title = "Dropout2d draws another mask with fallback_random"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# labels = ["randomness"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = 'channels \[1, 0, 1, 1, 1, 0, 1, 0\] are kept, eager keeps \[1, 0, 0, 1, 1, 0, 0, 1\] with the same seed'
# ///
"""fallback_random asks for eager's random numbers. feature_dropout is decomposed into a bernoulli that draws in another
order than eager's kernel. Correct: with one seed eager's mask. A function is compiled, since torch 2.0 skips the code of torch.nn.
Source: pytorch issue 142853.
"""

import torch
import torch._inductor.config


def dropped(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout2d(x, 0.5)


def test_mask_of_one_seed(device: str, backend: str) -> None:
    torch._inductor.config.fallback_random = True
    x, kept = torch.ones(1, 8, 2, 2, device=device), []
    for function in (dropped, torch.compile(dropped, backend=backend)):
        torch.manual_seed(0)
        kept.append((function(x)[0, :, 0, 0] > 0).int().tolist())
    assert kept[1] == kept[0], f"channels {kept[1]} are kept, eager keeps {kept[0]} with the same seed"


if __name__ == "__main__":
    test_mask_of_one_seed("cpu", "inductor")
