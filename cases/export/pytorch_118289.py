# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/118289"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "An in-place add of a keyword argument cannot be exported with a dynamic batch"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# compiles = false
# requires-torch = ">=2.2"
# demands = ["mutation", "dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = 'Constraints violated \(batch\)! For more information, run with TORCH_LOGS=dynamic\.'
# ///
"""Both arguments share the dynamic batch. The in-place add is traced as if it asked for a broadcast check on the batch,
so that the export claims a violated constraint. Correct: it exports, and the program takes another batch.
Source: pytorch issue 118289.
"""

import torch
from torch.export import Dim, export


class ConvolveAndShift(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, *, shift: torch.Tensor) -> torch.Tensor:
        a = self.conv(x)
        a.add_(shift)
        return torch.nn.functional.max_pool2d(torch.relu(a), 3)


def test_other_batch() -> None:
    batch, module = Dim("batch"), ConvolveAndShift()
    exported = export(
        module,
        (torch.randn(2, 3, 9, 9),),
        {"shift": torch.ones(2, 4, 9, 9)},
        dynamic_shapes={"x": {0: batch}, "shift": {0: batch}},
    )
    x, shift = torch.randn(5, 3, 9, 9), torch.ones(5, 4, 9, 9)
    torch.testing.assert_close(exported.module()(x, shift=shift), module(x, shift=shift))


if __name__ == "__main__":
    test_other_batch()
