# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195402"
# title = "An index out of bounds in a parallel kernel kills the process"
# component = "inductor"
# symptom = "crash"
# devices = ["cpu"]
# upstream = "open"
# upstream-seen = 2026-11-24
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.5"
# check = "test_error_leaves_a_kernel_of_one_thread"
# outcome = "crash"
# signal = "SIGABRT"
# output = '''terminate called after throwing an instance of '(std::runtime_error[\s\S]*index out of bounds: |c10::Error)'''
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2"
# check = "test_error_leaves_a_parallel_kernel"
# outcome = "crash"
# signal = "SIGABRT"
# output = '''terminate called after throwing an instance of '(std::runtime_error[\s\S]*index out of bounds: |c10::Error)'''
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = "index 1 of one element is read"
# blocked = true
# ///
"""The check of bounds throws inside a loop that OpenMP runs with two threads. No C++ exception may leave a parallel
region, so the process is aborted; a small tensor, in a loop of one thread, gets the exception. Correct: an error that
Python can catch.
Source: pytorch issue 195402.
"""

import torch


def picked(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return (x - 0.5)[index]


def test_error_leaves_a_kernel_of_one_thread(device: str, backend: str) -> None:
    pick_beyond_the_end(torch.ones(1, 2, device=device), backend)


def test_error_leaves_a_parallel_kernel(device: str, backend: str) -> None:
    torch.set_num_threads(2)
    pick_beyond_the_end(torch.ones(1, 8, 66, 66, device=device), backend)


def pick_beyond_the_end(x: torch.Tensor, backend: str) -> None:
    compiled = torch.compile(picked, backend=backend)
    assert compiled(x, torch.tensor([[0]], device=x.device)).eq(0.5).all()
    try:
        compiled(x, torch.tensor([[1]], device=x.device))
    except Exception as error:
        assert "out of bounds" in str(error), f"refused for another reason: {error}"
    else:
        raise AssertionError("index 1 of one element is read")


if __name__ == "__main__":
    test_error_leaves_a_kernel_of_one_thread("cpu", "inductor")
    test_error_leaves_a_parallel_kernel("cpu", "inductor")
