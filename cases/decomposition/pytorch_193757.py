# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/193757"
# title = "binary_cross_entropy takes targets outside of [0, 1]"
# component = "decomposition"
# symptom = "missing-error"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.13.0"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'the loss of a target of 1\.5 is 0\.693, eager refuses it'
# ///
"""Eager's kernel checks that each target is between 0 and 1. The decomposition leaves the check out, since its
outcome depends on data. Correct: the RuntimeError of eager; on CUDA both assert on the device.
Source: pytorch issue 193757.
"""

import torch


def loss(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.binary_cross_entropy(x, target)


def test_target_beyond_one(device: str, backend: str) -> None:
    compiled = torch.compile(loss, backend=backend)
    x = torch.full((4,), 0.5, device=device)
    compiled(x, torch.ones(4, device=device))
    try:
        value = compiled(x, torch.full((4,), 1.5, device=device)).item()
    except RuntimeError as error:
        assert "between 0 and 1" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError(f"the loss of a target of 1.5 is {value:.3f}, eager refuses it")


if __name__ == "__main__":
    test_target_beyond_one("cpu", "inductor")
