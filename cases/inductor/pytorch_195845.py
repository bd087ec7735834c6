# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195845"
# fix = "https://github.com/pytorch/pytorch/pull/196565"
# title = "A column sum fused with a row maximum adds up rows that do not exist"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# demands = []
# ///
"""A reduction over rows and one over columns of the same input share a kernel (mix-order reduction, since torch
2.10). The column sum is accumulated from blocks of rows; the last block reaches beyond the input, where masked
loads give 0, but the pointwise code in front of the sum turns that 0 into something else, and the block is
summed without its mask. Correct: 40961 rows of 0 * 2 + 0.25 sum up to 10240.25. As reported, three rows too
many were counted, 0.75 more; with 40960 rows it was right. Source: pytorch issue 195845, PR 196565.
"""

import torch


def rows_and_columns(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 2 + 0.25
    return y.max(dim=-1).values, y.float().sum(dim=0)


def test_rows_that_do_not_fill_the_last_block(device: str, backend: str) -> None:
    x = torch.zeros(40961, 129, device=device, dtype=torch.bfloat16)
    _, columns = torch.compile(rows_and_columns, backend=backend)(x)
    sums = columns.unique().tolist()
    assert sums == [10240.25], f"the columns sum up to {sums}"


if __name__ == "__main__":
    test_rows_that_do_not_fill_the_last_block("cuda", "inductor")
