# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180354"
# upstream = "open"
# upstream-seen = 2026-11-24
# reported-on = "2.12.0.dev20260414"
# title = "A tensor constant in a branch of torch.cond does not survive run_decompositions"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["control-flow"]
# demands = ["control-flow"]
# requires-torch = ">=2.3"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8"
# outcome = "raise"
# error = "RuntimeError"
# match = "Attempting to use FunctionalTensor on its own"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "torch._export.verifier.SpecViolationError"
# match = "Invalid get_attr type <class 'torch\\.Tensor'>"
# ///
"""The branch's constant is an attribute of the branch's graph. run_decompositions traces the program again under
functionalization, where the constant reaches an operator unwrapped (in old releases export itself refused the
attribute). Correct: the decomposed program equals eager. Source: pytorch issue 180354.
"""

import torch


class AddTwo(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda t: t + torch.tensor(2.0), lambda t: t.clone(), (x,))


def test_constant_in_a_branch() -> None:
    x = torch.ones(2)
    program = torch.export.export(AddTwo(), (x,))
    actual = program.run_decompositions().module()(x).tolist()
    assert actual == [3.0, 3.0], f"result is {actual}"


if __name__ == "__main__":
    test_constant_in_a_branch()
