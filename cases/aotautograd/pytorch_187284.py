# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/187284"
# title = "The tangent of forward-mode AD is lost in a compiled function"
# component = "aotautograd"
# symptom = "wrong-result"
# upstream = "closed"
# upstream-seen = 2026-11-24
# devices = ["cpu", "cuda"]
# labels = ["forward-ad"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "the output has no tangent"
# ///
"""The graph is compiled for inference, as no input asks for a gradient, and run on the primal values alone: its
output has no tangent. Correct: eager's tangent, or an error that says that it is not supported.
Source: pytorch issue 187284.
"""

import torch
import torch.autograd.forward_ad as forward_ad


def squares(x: torch.Tensor) -> torch.Tensor:
    return (x**2).sum()


def test_tangent_of_the_output(device: str, backend: str) -> None:
    x = torch.tensor([1.0, 2.0], device=device)
    compiled = torch.compile(squares, backend=backend)
    assert compiled(x).item() == 5
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        try:
            tangent = forward_ad.unpack_dual(compiled(dual)).tangent
        except (NotImplementedError, RuntimeError) as error:
            assert "forward" in str(error).lower(), f"refused for another reason: {error}"
        else:
            assert tangent is not None, "the output has no tangent"
            assert tangent.item() == 6, f"the tangent is {tangent.item()}"


if __name__ == "__main__":
    test_tangent_of_the_output("cpu", "inductor")
