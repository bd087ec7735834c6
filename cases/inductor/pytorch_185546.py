# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/185546"
# fix = "https://github.com/pytorch/pytorch/pull/185627"
# title = "wait_stream is scheduled away from the work it orders under CUDA graphs"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cuda"]
# labels = ["cudagraphs", "stream"]
# demands = []
# ///
"""The function forks to a side stream and joins it, both by wait_stream. The operators that stand for it in the
graph have no tensor among their arguments, and unlike those of events they were not tied to the work around
them, so Inductor's scheduler runs them first. During capture the side stream's work is then never joined.
Correct: x * 2 + 1. As reported with mode="reduce-overhead": CUDA error, the capturing stream has unjoined work.
Source: pytorch issue 185546, PR 185627.
"""

import torch


def test_fork_and_join(device: str) -> None:
    side = torch.cuda.Stream()

    def double_and_one(x: torch.Tensor) -> torch.Tensor:
        current = torch.cuda.current_stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            y = x * 2
        current.wait_stream(side)
        return y + 1

    compiled = torch.compile(double_and_one, mode="reduce-overhead")
    x = torch.arange(4096.0, device=device)
    for _ in range(4):  # warm up, capture, replay
        actual = compiled(x)
        torch.cuda.synchronize()
        torch.testing.assert_close(actual, x * 2 + 1)


if __name__ == "__main__":
    test_fork_and_join("cuda")
