# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/147171"
# fix = "https://github.com/pytorch/pytorch/pull/144319"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A random tensor that nothing reads is not drawn, and shifts the numbers after it"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["aot_eager"]
# labels = ["randomness"]
# demands = ["randomness"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "the second draw has the numbers of the first, which was removed"
# ///
"""With fallback_random set, random numbers are to come from eager's generator in eager's order. AOTAutograd removes a
draw whose result is not used, and the next draw gets its numbers. Correct: eager's numbers for eager's seed.
Source: pytorch issue 147171.
"""

import torch
import torch._inductor.config


def second_draw(x: torch.Tensor) -> torch.Tensor:
    torch.rand(4)
    return x + torch.rand(4)


def test_numbers_of_one_seed(device: str, backend: str) -> None:
    x = torch.zeros(4, device=device)
    torch.manual_seed(1)
    first, second = torch.rand(4), torch.rand(4)
    with torch._inductor.config.patch(fallback_random=True):
        torch.manual_seed(1)
        actual = torch.compile(second_draw, backend=backend, fullgraph=True)(x)
    assert not actual.equal(first), "the second draw has the numbers of the first, which was removed"
    torch.testing.assert_close(actual, second, rtol=0, atol=0)


if __name__ == "__main__":
    test_numbers_of_one_seed("cpu", "aot_eager")
