# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/113793"
# title = "In-place foreach operators on views of one base do not compile"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = 'could not find kernel for aten\._foreach_mul_\.Scalar at dispatch key DispatchKey\.Meta'
# ///
"""The views are inputs that alias each other and are changed, so that AOTAutograd makes their base an input. It then has no
kernel for the foreach operator of the trace. Correct: the base changes as in eager.
Source: pytorch issue 113793.
"""

import torch


def doubled(views: list[torch.Tensor]) -> torch.Tensor:
    torch._foreach_mul_(views, 2)
    return views[0] + 1


def test_base_changes(device: str, backend: str) -> None:
    base = torch.ones(4, device=device)
    torch.compile(doubled, backend=backend)(list(base.split(2)))
    assert base.tolist() == [2.0] * 4, f"the base after two of its views are doubled: {base.tolist()}"


if __name__ == "__main__":
    test_base_changes("cpu", "aot_eager")
