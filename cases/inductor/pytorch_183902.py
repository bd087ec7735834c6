# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183902"
# fix = "https://github.com/pytorch/pytorch/pull/183007"
# title = "index_add of CUDA tensors takes an index on the CPU"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cuda"]
# compiles = false
# demands = ["randomness"]
# ///
"""Eager's index_add wants its index on the device of the tensors. Its decomposition is an index_put, which allows
indices on the CPU, and Inductor's constructor mover then makes the randperm on the GPU anyway, so nothing is
left to notice. From torch 2.13 on the decomposition compares the devices. Correct: eager's error, tensors on
different devices. As reported the compiled function returned a result. The refused call captures no graph
(compiles = false). Source: pytorch issue 183902 (also 172184), PR 183007.
"""

import torch


def add_rows(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    index = torch.randperm(x.size(0))[: y.size(0)]
    return torch.index_add(x, 0, index, y)


def test_index_on_the_cpu(device: str, backend: str) -> None:
    x, y = torch.zeros(6, 4, device=device), torch.ones(3, 4, device=device)
    for run in (add_rows, torch.compile(add_rows, backend=backend)):  # eager is the control
        try:
            run(x, y)
        except RuntimeError as error:
            if "device" not in str(error):
                raise
        else:
            raise AssertionError("an index on the CPU was accepted")


if __name__ == "__main__":
    test_index_on_the_cpu("cuda", "inductor")
