# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/153411"
# fix = "https://github.com/pytorch/pytorch/pull/154661"
# title = "export of torch.tensor([tensor.item()]) fixes the float"
# component = "dynamic-shapes"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
# compiles = false
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# blocked = true
# outcome = "raise"
# error = "torch._subclasses.fake_tensor.DataDependentOutputException"
# match = "_local_scalar_dense"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.8"
# outcome = "raise"
# error = "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode"
# match = "Could not guard on data-dependent expression z?u?f0"
# ///
"""item() gives export an unbacked symbolic float; torch.tensor of a list needs a concrete number to fill
its storage, so tracing guards on a value it cannot know. Correct: the float stays symbolic (a scalar_tensor
in the graph), and the exported module follows its input. Source: issue 153411, PR 154661.
"""

import torch


class Rewrap(torch.nn.Module):
    def forward(self, t: torch.Tensor) -> torch.Tensor:
        return torch.tensor([t.item()])


def test_exported_module_follows_input() -> None:
    program = torch.export.export(Rewrap(), (torch.tensor([3.25]),), strict=False)
    for value in (3.25, 5.5):
        t = torch.tensor([value])
        torch.testing.assert_close(program.module()(t), Rewrap()(t), rtol=0, atol=0)


if __name__ == "__main__":
    test_exported_module_follows_input()
