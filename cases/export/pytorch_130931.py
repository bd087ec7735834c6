# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/130931"
# fix = "https://github.com/pytorch/pytorch/pull/159418"
# title = "unflatten of an exported nn.Sequential rejects its own child's name"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.4"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "raise"
# error = "AssertionError"
# match = "Child module 'getattr\\(L\\['fn'\\], '0'\\)' is not a descendant of parent"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "raise"
# error = "RuntimeError"
# match = "Child module 'getattr\\(L\\['fn'\\], '0'\\)' is not a descendant of parent"
# ///
"""Strict export recorded the path of a child of an nn.Sequential as the source expression getattr(L['fn'], '0')
rather than as a dotted path, and unflatten, which builds the module tree from these paths, finds that the
child's name does not begin with its parent's. Correct: unflatten gives a module that equals the model.
Source: pytorch issue 130931.
"""

import torch


def test_unflatten_sequential(device: str) -> None:
    model = torch.nn.Sequential(torch.nn.ReLU())
    x = torch.tensor([-1.0, 2.0], device=device)
    program = torch.export.export(model, (x,), strict=True)
    torch.testing.assert_close(torch.export.unflatten(program)(x), model(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_unflatten_sequential("cpu")
