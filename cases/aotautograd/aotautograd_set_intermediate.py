# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/111554"
# title = "set_ of an intermediate to a view of another intermediate"
# component = "aotautograd"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
# ///
"""set_ makes an intermediate share the storage of another one. Functionalization has to take the chain of views
over with it: a write through a view of the first must reach the second and its base. Correct: eager's values.
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
