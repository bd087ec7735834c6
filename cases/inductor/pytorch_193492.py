# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/193492"
# fix = "https://github.com/pytorch/pytorch/pull/195063"
# title = "argmax fused with adaptive_avg_pool1d of a transposed view"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.15"
# outcome = "wrong"
# error = "AssertionError"
# # 0 before torch 2.2, 14 since.
# match = 'argmax after pooling of a non-contiguous view is (0|14), not 26'
# ///
"""A flat argmax must number elements in the logical order of its operand. Here the operand is a pooling that
is computed inside the reduction, and its input is a transposed view, so the loops run in memory order; the
index comes back in that order too. The pooled values themselves are right. Correct: eager's index. Source:
issue 193492, fixed with issue 193751 in PR 195063.
"""

import torch


def test_argmax_of_a_pooled_transposed_view(device: str, backend: str) -> None:
    def pool_argmax(x: torch.Tensor) -> torch.Tensor:
        return torch.adaptive_avg_pool1d(x, 2).argmax()

    compiled = torch.compile(pool_argmax, backend=backend)
    for seed in range(6):
        torch.manual_seed(seed)
        x = torch.rand(4, 4, 3, dtype=torch.float64).to(device).transpose(0, 1)
        index, expected = compiled(x).item(), pool_argmax(x).item()
        if index != expected:
            raise AssertionError(f"argmax after pooling of a non-contiguous view is {index}, not {expected}")


def bench_argmax_of_a_pooled_transposed_view(device: str) -> tuple:
    def pool_argmax(x: torch.Tensor) -> torch.Tensor:
        return torch.adaptive_avg_pool1d(x, 32).argmax()

    return pool_argmax, (torch.rand(128, 64, 128, device=device).transpose(0, 1),)


if __name__ == "__main__":
    test_argmax_of_a_pooled_transposed_view("cpu", "inductor")
