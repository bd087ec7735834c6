# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180179"
# fix = "https://github.com/pytorch/pytorch/pull/180623"
# title = "cuda_stream of a side stream is its id"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cuda"]
# backends = ["eager"]
# requires-torch = ">=2.1"
# labels = ["stream"]
# demands = []
# ///
"""Dynamo makes a general torch.Stream of the current stream, which has no cuda_stream, and falls back to its
native id. For the default stream both are 0. For another one the id is a small number, and the handle, which
libraries pass to their kernels, is an address. Correct: the address. As reported the compiled function passed 3
instead of 0x1ee529d0, and the library's kernel launch crashed. Source: pytorch issue 180179, PR 180623.
"""

import torch


def handle_and_sum(x: torch.Tensor) -> tuple[int, torch.Tensor]:
    return torch.cuda.current_stream().cuda_stream, x + 1


def test_handle_of_a_side_stream(device: str, backend: str) -> None:
    x, side = torch.zeros(1, device=device), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        handle, _ = torch.compile(handle_and_sum, backend=backend)(x)
    torch.cuda.synchronize()
    kind = "its id" if handle == side.stream_id else "another number"
    assert handle == side.cuda_stream, f"the handle of a side stream is {kind}"


if __name__ == "__main__":
    test_handle_of_a_side_stream("cuda", "eager")
