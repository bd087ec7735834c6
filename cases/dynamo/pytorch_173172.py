# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/173172"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.10.0"
# title = "current_stream().cuda_stream cannot be traced"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cuda"]
# backends = ["eager"]
# labels = ["stream"]
# demands = []
# ///
"""torch 2.10 gave streams a variable class of their own in Dynamo. It stands for the general torch.Stream, which
has no attribute cuda_stream, the handle that libraries pass to their kernels; torch 2.9 took the value as a
constant. Correct: the handle of the current stream, 0 for the default one, and the sum. As reported the
compiled function raised in 2.10.0 and returned 0 in 2.9.1. Source: pytorch issue 173172.
"""

import torch


def handle_and_sum(x: torch.Tensor) -> tuple[int, torch.Tensor]:
    return torch.cuda.current_stream().cuda_stream, x + 1


def test_handle_of_the_default_stream(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    handle, y = torch.compile(handle_and_sum, backend=backend)(x)
    assert handle == torch.cuda.current_stream().cuda_stream, f"the handle is {handle}"
    torch.testing.assert_close(y, x + 1)


if __name__ == "__main__":
    test_handle_of_the_default_stream("cuda", "eager")
