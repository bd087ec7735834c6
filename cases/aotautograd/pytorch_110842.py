# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.1.2", "numpy<2", "setuptools<70"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/110842"
# fix = "https://github.com/pytorch/pytorch/pull/111554"
# title = "An input that is set_ to new storage and back again"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# outcome = "raise"
# error = "RuntimeError"
# match = 'size of tensor a \(4\) must match the size of tensor b \(8\)'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "wrong"
# error = "AssertionError"
# match = 'torch\.Size\(\[8\]\) != torch\.Size\(\[4\]\)[^T]*The failure occurred for item \[1\]'
# ///
"""The input is set_ to a longer tensor, used, and set_ back. AOTAutograd saw a mutated input and copied a
value of the longer size into it at the end. Correct: nothing remains to be replayed; the input keeps its
values and its storage. Source: issue 110842, PR 111554.
"""

import torch


def borrow(p: torch.Tensor) -> torch.Tensor:
    old = p.detach()
    p.set_(torch.cat([p, p]))
    doubled = p * 2
    p.set_(old)
    return doubled


def test_set_and_restore(device: str, backend: str) -> None:
    p, reference = torch.arange(4.0, device=device), torch.arange(4.0, device=device)
    place = p.untyped_storage().data_ptr()
    expected = borrow(reference)
    actual = torch.compile(borrow, backend=backend)(p)
    torch.testing.assert_close((actual, p), (expected, reference), rtol=0, atol=0)
    assert p.untyped_storage().data_ptr() == place, "the input lost its storage"


if __name__ == "__main__":
    test_set_and_restore("cpu", "aot_eager")
