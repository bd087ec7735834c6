# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/163303"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Non-strict export lifts a parameter reached through a list as a separate constant"
# component = "export"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "wrong"
# error = "AssertionError"
# match = "with new weights 5, adding them to zeros gives \\[1.0, 1.0\\]"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# blocked = true
# outcome = "raise"
# error = "Exception"
# match = "Found in aten.add.Tensor\\(FakeTensor.*, Parameter containing"
# ///
"""While non-strict export traces, the registered parameters are swapped for fake ones, but a plain Python list
of the module still holds the original tensor. Reading it puts a constant into the graph, which is lifted as
an input of its own beside the parameter, and the parameter is not used: new weights for it have no effect.
Correct: the program reads the parameter. (torch 2.2 does not lift it and stops at a tensor that is not fake.)
Source: pytorch issue 163303, PR 185106 (closed).
"""

import torch


class AddWeight(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.flat_weights = [self.weight]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.flat_weights[0]


def test_parameter_in_a_list(device: str) -> None:
    x = torch.zeros(2, device=device)
    program = torch.export.export(AddWeight().to(device), (x,), strict=False)
    module = program.module()
    module.load_state_dict({"weight": torch.full((2,), 5.0, device=device)}, strict=False, assign=True)
    actual = module(x).tolist()
    assert actual == [5.0, 5.0], f"with new weights 5, adding them to zeros gives {actual}"


if __name__ == "__main__":
    test_parameter_in_a_list("cpu")
