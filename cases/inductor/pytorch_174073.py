# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/174073"
# fix = "https://github.com/pytorch/pytorch/pull/183655"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.10.0"
# title = "flat argmin over a transposed view of an input mutated in the same graph"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = 'argmin over a transposed mutated input is 3, not 12'
# ///
"""A flat argmin must number elements in the logical order of its operand. Over a transposed view the
generated loop runs in memory order, and the index is translated back only when the operand looks transposed
at lowering time; after an in-place update of the graph input it does not, and the position in memory comes
back. Correct: eager's index. Source: issue 174073, fix in PR 183655.
"""

import torch


def test_argmin_of_a_transposed_mutated_input(device: str, backend: str) -> None:
    def scale_then_argmin(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x.t().argmin()

    compiled = torch.compile(scale_then_argmin, backend=backend)
    for seed in range(6):
        torch.manual_seed(seed)
        x = torch.randn(4, 6).to(device)
        index, expected = compiled(x.clone()).item(), scale_then_argmin(x.clone()).item()
        if index != expected:
            raise AssertionError(f"argmin over a transposed mutated input is {index}, not {expected}")


def bench_argmin_of_a_transposed_product(device: str) -> tuple:
    def scale_then_argmin(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).t().argmin()

    return scale_then_argmin, (torch.randn(1024, 512, device=device),)


if __name__ == "__main__":
    test_argmin_of_a_transposed_mutated_input("cpu", "inductor")
