# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180221"
# fix = "https://github.com/pytorch/pytorch/pull/180369"
# title = "cumsum of a sum with a broadcast bias does not compile from 129 elements"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# labels = ["scan"]
# demands = []
# ///
"""A scan over more than 128 elements is split over blocks. The split-scan kernel has no x dimension: the range
tree of the other dimensions has tensor_dim None. The bias that is added before the scan is indexed by that
tree, and asking for the shape of its block indexes a list with None. Correct: it compiles and equals eager. As
reported: TypeError, list indices must be integers or slices, not NoneType; 128 elements worked. Source: pytorch
issue 180221, PR 180369.
"""

import torch


def scan(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.cumsum(x + bias, dim=1)


def test_scan_of_129_elements_with_a_bias(device: str, backend: str) -> None:
    x, bias = torch.ones(1, 129, 64, device=device), torch.arange(64.0, device=device)
    torch.testing.assert_close(torch.compile(scan, backend=backend)(x, bias), scan(x, bias))


if __name__ == "__main__":
    test_scan_of_129_elements_with_a_bias("cuda", "inductor")
