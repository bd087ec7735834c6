# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/185246"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Compiled bernoulli accepts probabilities outside [0,1]"
# component = "decomposition"
# symptom = "missing-error"
# devices = ["cpu"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'bernoulli accepted the probability 1\.5$'
# ///
"""Inductor decomposes bernoulli into a comparison of uniform random numbers with the probabilities. Eager's
check that each probability lies in [0, 1] is part of the kernel that the decomposition replaces, so 1.5 and
-0.5 are silently taken as certain and impossible. Correct: RuntimeError, as in eager. Source: issue 185246.
"""

import torch


def test_invalid_probabilities_are_refused(device: str, backend: str) -> None:
    def draw(p: torch.Tensor) -> torch.Tensor:
        return torch.bernoulli(p)

    compiled = torch.compile(draw, backend=backend)
    certain = torch.tensor([0.0, 1.0, 1.0], device=device)
    torch.testing.assert_close(compiled(certain).to(certain.dtype), certain, rtol=0, atol=0)
    for run in (draw, compiled):
        for invalid in (1.5, -0.5):
            try:
                run(torch.tensor([0.0, 1.0, invalid], device=device))
            except RuntimeError as error:
                if "p_in" not in str(error):
                    raise
            else:
                raise AssertionError(f"bernoulli accepted the probability {invalid}")


if __name__ == "__main__":
    test_invalid_probabilities_are_refused("cpu", "inductor")
