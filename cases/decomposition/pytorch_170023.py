# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/170023"
# fix = "https://github.com/pytorch/pytorch/pull/170362"
# title = "run_decompositions of isin(scalar, tensor) finds a non-functional detach_"
# component = "decomposition"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# compiles = false
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.11"
# outcome = "raise"
# error = "AssertionError"
# match = "entirely functional graph, but found %detach_"
# ///
"""The decomposition of isin(scalar, tensor) makes a tensor of its scalar with torch.tensor, and tracing
that call records a detach_ on a fresh constant. run_decompositions applies decompositions below
functionalization, so the in-place op stays in the graph and the check for a functional graph trips.
Correct: the decomposed program gives eager's answers. Source: issue 170023.
"""

import torch


class Contains(torch.nn.Module):
    def forward(self, t: torch.Tensor) -> torch.Tensor:
        return torch.isin(3, t)


def test_scalar_isin_decomposes(device: str) -> None:
    present, absent = torch.tensor([1, 3, 5], device=device), torch.tensor([1, 2, 5], device=device)
    program = torch.export.export(Contains(), (present,), strict=False).run_decompositions()
    for t in (present, absent):
        torch.testing.assert_close(program.module()(t), Contains()(t), rtol=0, atol=0)


if __name__ == "__main__":
    test_scalar_isin_decomposes("cpu")
