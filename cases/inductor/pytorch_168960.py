# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/168960"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A random uint32 number of no dimension raises a CUDA error"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cuda"]
# requires-torch = ">=2.3"
# demands = ["randomness"]
# ///
"""The compiled function draws one random uint32 over its full range for an input without dimensions and adds it to
the input; the reporter saw the call fail with a CUDA error, with that dtype and one element. Eager works.
Correct: a float32 number from 0 to 2**32; the number itself is the compiler's choice, since Inductor has its
own generator. Source: pytorch issue 168960.
"""

import torch


def add_random(x: torch.Tensor, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return x + torch.randint(0, 2**32, size=x.shape, dtype=torch.uint32, device=x.device)


def test_one_random_element(device: str, backend: str) -> None:
    x = torch.zeros((), device=device)
    for run in (add_random, torch.compile(add_random, backend=backend)):  # eager is the control
        number = run(x, 0)
        assert number.dtype == torch.float32 and number.shape == (), f"{number.dtype} of shape {number.shape}"
        assert 0 <= number.item() <= 2**32, f"out of range: {number.item()}"


if __name__ == "__main__":
    test_one_random_element("cuda", "inductor")
