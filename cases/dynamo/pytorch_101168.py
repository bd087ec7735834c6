# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/101168"
# title = "training of a global module cannot be set in the compiled function"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'setattr\(UserDefinedObjectVariable\) <function Module\.__setattr__ at \d+x\.\.\.>'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.5"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'setattr\(UnspecializedNNModuleVariable\(Dropout\), training, \.\.\.\)'
# ///
"""The assignment goes through Module.__setattr__ of an object that Dynamo knew by its source alone. Correct: one graph without the
dropout, and the module is in evaluation mode afterwards.
Source: pytorch issue 101168.
"""

import torch

MODULES = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.9))


def evaluated(x: torch.Tensor) -> torch.Tensor:
    MODULES[1].training = False
    return MODULES(x)


def test_dropout_is_off(backend: str) -> None:
    x = torch.ones(1, 3)
    actual = torch.compile(evaluated, backend=backend, fullgraph=True)(x)
    assert MODULES[1].training is False, "the dropout is in training mode still"
    torch.testing.assert_close(actual, MODULES[0](x))


if __name__ == "__main__":
    test_dropout_is_off("eager")
