# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180396"
# fix = "https://github.com/pytorch/pytorch/pull/180497"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "Events between streams cannot be captured under CUDA graphs"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cuda"]
# labels = ["cudagraphs", "stream"]
# demands = []
# ///
"""The function forks to a side stream and joins it by two events: recorded on the current stream and waited for on
the side stream, then the other way round. In eager a capture takes such a fork along. The compiled function
runs once as a warm-up and fails when it is captured in the second call. Correct: x * 2 + y in every call, or no
capture of what cannot be captured. As reported with mode="reduce-overhead": CUDA error, operation not permitted
when stream is capturing. Source: pytorch issue 180396.
"""

import torch


def test_events_in_both_directions(device: str) -> None:
    side, forked, joined = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()

    def double_on_the_side(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        forked.record()
        with torch.cuda.stream(side):
            forked.wait()
            z = x * 2
            joined.record()
        joined.wait()
        return z + y

    compiled = torch.compile(double_on_the_side, mode="reduce-overhead")
    x, y = torch.arange(4096.0, device=device), torch.ones(4096, device=device)
    for run in (double_on_the_side, *[compiled] * 4):  # eager is the control; then warm up, capture, replay
        actual = run(x, y)
        torch.cuda.synchronize()
        torch.testing.assert_close(actual, x * 2 + y)


if __name__ == "__main__":
    test_events_in_both_directions("cuda")
