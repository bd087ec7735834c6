# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183608"
# fix = "https://github.com/pytorch/pytorch/pull/183636"
# title = "embedding accepts a negative row number"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "embedding accepted row -3"
# ///
"""Inductor lowers embedding to a general indirect load, which follows the rules of indexing: a negative index
is wrapped round once and then checked against the bounds. An embedding has no negative rows, and eager
refuses them. The compiled kernel returns the row that the wrapped index names; up to torch 2.1 nothing was
wrapped, and it returned what lies before the table in memory. Correct: an exception, as eager's IndexError.
Source: pytorch issue 183608, PR 183636.
"""

import torch
import torch.nn.functional as F


def test_negative_row_is_refused(device: str, backend: str) -> None:
    def lookup(rows: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        return F.embedding(rows, table)

    compiled = torch.compile(lookup, backend=backend)
    table = torch.arange(12.0, device=device).reshape(4, 3)
    valid = torch.tensor([1, 3], device=device)
    torch.testing.assert_close(compiled(valid, table), lookup(valid, table), rtol=0, atol=0)
    for run in (lookup, compiled):
        try:
            result = run(torch.tensor([1, -3], device=device), table)
        except (IndexError, RuntimeError) as error:
            if "out of range" not in str(error) and "out of bounds" not in str(error):
                raise
        else:
            raise AssertionError(f"embedding accepted row -3 and returned {result[1].tolist()}")


def bench_embedding(device: str) -> tuple:
    rows = torch.randint(0, 1000, (20_000,), device=device)
    return F.embedding, (rows, torch.randn(1000, 64, device=device))


if __name__ == "__main__":
    test_negative_row_is_refused("cpu", "inductor")
