# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/159258"
# fix = "https://github.com/pytorch/pytorch/pull/161508"
# title = "An attribute read through weakref.proxy fails in Dynamo"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = 'Failed running call_function <built-in function add>\(\*\(FakeTensor\(\.\.\., size=\(\d+,\)\), None\),'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.3"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_function args: TensorVariable\(\) SkipFilesVariable\(\)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.5"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'partial tensor op: BuiltinVariable\(add\) \[TensorVariable\(\), UserDefinedClassVariable\(\)\] \{\}'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "cannot create weak reference to 'weakref\\.ProxyType' object"
# ///
"""Dynamo keeps a weak reference to each object that it has a source for, and a proxy takes no weak reference. Older
releases fail earlier, on the type of the proxy. Correct: the attribute of the object behind the proxy.
Source: pytorch issue 159258; a regression test of PyTorch's names it.
"""

import weakref

import torch


class Trainer:
    def __init__(self, shift: torch.Tensor) -> None:
        self.shift = shift


class Model(torch.nn.Module):
    def __init__(self, trainer: Trainer) -> None:
        super().__init__()
        self.trainer = weakref.proxy(trainer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.trainer.shift


def test_attribute_behind_a_proxy(device: str, backend: str) -> None:
    trainer = Trainer(torch.ones(2, device=device))
    x = torch.zeros(2, device=device)
    actual = torch.compile(Model(trainer), backend=backend, fullgraph=True)(x)
    torch.testing.assert_close(actual, trainer.shift, rtol=0, atol=0)


if __name__ == "__main__":
    test_attribute_behind_a_proxy("cpu", "eager")
