# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/111554"
# fix = "https://github.com/pytorch/pytorch/pull/111554"
# title = "set_ of an intermediate to a view of another intermediate"
# component = "aotautograd"
# symptom = "wrong-result"
# same-fix = "pytorch_110842"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 22\.0 '
# ///
"""set_ makes an intermediate share the storage of another one. Functionalization has to take the chain of views
over with it: a write through a view of the first must reach the second and its base. Up to torch 2.1 set_ was
a change of metadata, and the write reached neither. Correct: eager's values.
AOTAutograd's own, without Dynamo, which breaks the graph at set_.
Source: pytorch PR 111554.
"""

import torch
from functorch.compile import aot_function, nop


def share_and_write(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    mine, rows = a * 2, b * 3
    row = rows[1].view(2, 2)
    mine.set_(row)
    mine.view(-1).add_(1)
    return mine * row, rows


def test_write_after_set(device: str) -> None:
    a, b = torch.ones(2, 2, device=device), torch.arange(12.0, device=device).view(3, 4)
    torch.testing.assert_close(aot_function(share_and_write, nop)(a, b), share_and_write(a, b), rtol=0, atol=0)


if __name__ == "__main__":
    test_write_after_set("cpu")
