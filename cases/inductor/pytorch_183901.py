# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183901"
# fix = "https://github.com/pytorch/pytorch/pull/184492"
# title = "int64 multiples of an arange wrap at 2**31 in a Triton kernel"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# demands = []
# ///
"""An arange becomes an index expression, and index propagation folds the multiplication by a constant into it.
Triton code prints index expressions in the index type of the kernel, which is int32 where every buffer is
small, and the dtype of the result counts for nothing: the products are computed in 32 bits and wrap. Correct:
int64 values, n * 1500000000. As reported the third one came out as -1294967296. Source: pytorch issue 183901
(also 175966), PR 184492.
"""

import torch


def multiples(x: torch.Tensor) -> torch.Tensor:
    count = torch.arange(9, device=x.device, dtype=torch.int64)
    return count * torch.tensor([1_500_000_000], device=x.device, dtype=torch.int64)


def test_products_beyond_int32(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    expected = [n * 1_500_000_000 for n in range(9)]
    assert multiples(x).tolist() == expected
    actual = torch.compile(multiples, backend=backend)(x).tolist()
    assert actual == expected, f"the multiples are {actual}"


if __name__ == "__main__":
    test_products_beyond_int32("cuda", "inductor")
