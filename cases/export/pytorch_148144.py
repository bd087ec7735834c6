# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/148144"
# same-fix = "pytorch_133063"
# title = "list.extend of a generator that reads the list's end is traced as if it were read once"
# component = "export"
# symptom = "wrong-result"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# compiles = false
# requires-torch = ">=2.2"
# labels = ["generator"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = 'the corners of the levels are \[0\.0, 13\.0, 13\.0, 13\.0\]'
# ///
"""Each step of the generator pools the newest element of the list that is being extended. Dynamo consumed the whole
generator before it extended the list, so every step pooled the first element. Correct: three poolings in a row.
Source: pytorch issue 148144.
"""

import torch


class Pyramid(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = torch.nn.MaxPool2d(kernel_size=3, stride=1, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = [x]
        levels.extend(self.pool(levels[-1]) for _ in range(3))
        return torch.cat(levels, 1)


def test_each_level_pools_the_last() -> None:
    module, x = Pyramid(), torch.arange(144.0).reshape(1, 1, 12, 12)
    values = torch.export.export(module, (x,), strict=True).module()(x)
    heads = values[0, :, 0, 0].tolist()
    assert heads == [0.0, 13.0, 26.0, 39.0], f"the corners of the levels are {heads}"
    torch.testing.assert_close(values, module(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_each_level_pools_the_last()
