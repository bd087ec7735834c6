# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/113793"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A view that is made, changed and returned without gradients is refused"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "A view was created in no_grad mode and its base or another view of its base has been modif"
# ///
"""AOTAutograd traced a function that makes a view of a parameter under no_grad and changes it, and takes the view of its
outputs anew with gradients on, which autograd forbids. torch 2.0 did not. Correct: the parameter changes as in eager.
Source: pytorch issue 113793.
"""

import torch


@torch.no_grad()
def doubled(parameter: torch.Tensor) -> torch.Tensor:
    view = parameter.view(2, 2)
    view.mul_(2)
    return view


def test_parameter_changes(device: str, backend: str) -> None:
    parameter = torch.nn.Parameter(torch.ones(4, device=device))
    view = torch.compile(doubled, backend=backend)(parameter)
    assert view.tolist() == [[2.0, 2.0], [2.0, 2.0]], f"a view of twice one is {view.tolist()}"
    assert parameter.tolist() == [2.0] * 4, f"a parameter whose view is doubled: {parameter.tolist()}"


if __name__ == "__main__":
    test_parameter_changes("cpu", "aot_eager")
