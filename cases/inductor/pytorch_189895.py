# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/189895"
# fix = "https://github.com/pytorch/pytorch/pull/189896"
# title = "A pad fused into a split reduction loses its fill value"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# demands = []
# ///
"""constant_pad_nd is a masked load with the fill value for the lanes outside. A long sum over few rows is split
into two kernels, and the pad is fused into the second one: the value it loads is then the one just stored by
that kernel, taken from the store cache, so no tl.load is emitted that could carry the fill value, and no select
is emitted instead. Correct: the padding holds 0. As reported [16384, 16384] came back for [0, 16384], offsets
of sequences that attention kernels read. Source: pytorch issue 189895, PR 189896.
"""

import torch


def offsets(mask: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(mask.sum(dim=-1, dtype=torch.int32), (1, 0))


def test_padding_before_a_long_sum(device: str, backend: str) -> None:
    mask = torch.ones(1, 16384, dtype=torch.bool, device=device)
    assert offsets(mask).tolist() == [0, 16384]
    actual = torch.compile(offsets, backend=backend)(mask).tolist()
    assert actual == [0, 16384], f"the padded sum is {actual}"


if __name__ == "__main__":
    test_padding_before_a_long_sum("cuda", "inductor")
