# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/181618"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "GroupNorm, sum and Conv1d write beyond the end of a buffer"
# component = "inductor"
# symptom = "crash"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.13"
# outcome = "crash"
# signal = "SIGABRT"
# output = '(malloc|free\(\)|double free)[^\n]+\nFatal Python error: Aborted\n(?s:.*) in test_sum_of_rows\n'
# ///
"""The kernel that sums a normalized image over its rows writes behind the memory of its result, over what malloc keeps
there. The process is aborted when a tensor is freed. Correct: the values of eager.
Source: pytorch issue 181618 (also 181688, 181689).
"""

import torch


def test_sum_of_rows(device: str, backend: str) -> None:
    torch.manual_seed(0)
    norm = torch.nn.GroupNorm(1, 9).eval().to(device)
    first, second = torch.nn.Conv1d(9, 1, 3).to(device), torch.nn.Conv1d(1, 7, 3).to(device)

    def convolved(x: torch.Tensor) -> torch.Tensor:
        return second(first(torch.sum(norm(x), dim=3)))

    x = torch.randn(8, 9, 14, 12, device=device)
    compiled = torch.compile(convolved, backend=backend)
    for _ in range(20):
        torch.testing.assert_close(compiled(x), convolved(x), rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    test_sum_of_rows("cpu", "inductor")
