# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/125702"
# fix = "https://github.com/pytorch/pytorch/pull/125724"
# title = "Guards on a property of a module that reads a closure variable cannot be made"
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
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = '^\s*($|You can suppress|Set TORCH)'
# frame = 'guards\.py:\d+ TENSOR_MATCH'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'Tensor' object has no attribute '__closure__'"
# ///
"""The property is a function of the class; its closure variable was looked up with a source that no guard could name.
Correct: the property is traced, and the guard is on its closure.
Source: pytorch issue 125702.
"""

import torch


def module_with_property() -> torch.nn.Module:
    shift = torch.ones(3, 3)

    class Scaled(torch.nn.Module):
        @property
        def weight(self) -> torch.Tensor:
            return torch.ones(3, 3) + shift

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.weight

    return Scaled()


def test_property_of_a_closure(backend: str) -> None:
    module, x = module_with_property(), torch.arange(9.0).reshape(3, 3)
    torch.testing.assert_close(torch.compile(lambda x: module(x), backend=backend)(x), module(x))


if __name__ == "__main__":
    test_property_of_a_closure("eager")
