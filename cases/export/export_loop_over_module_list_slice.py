# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141939"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "unflatten of a strict export with a loop over a slice of a ModuleList"
# component = "export"
# symptom = "internal-error"
# found-beside = "https://github.com/pytorch/pytorch/issues/141939"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# requires-torch = ">=2.3"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "RuntimeError"
# match = 'Expected positional argument for parameter arg\d+_1.*\s*While executing %arg\d+_1'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.6"
# blocked = true
# outcome = "raise"
# error = "RuntimeError"
# match = 'nonexistent target layers\.slice\(1, 3, None\)\._modules'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# blocked = true
# outcome = "raise"
# error = "AttributeError"
# match = "`_modules` is not an nn.Module"
# ///
"""Two elements of one slice of a ModuleList are called in turn. Torch 2.3 records both calls below a path of the
slice, which is no module of the tree; unflatten makes a module for it and leaves the parameters of its second
element unfilled, so running the unflattened module stops at a placeholder without a value. Correct: the
unflattened module equals eager. (In 2.5 and 2.6 the failure of pytorch_141939 comes first.)
Source: the program of pytorch issue 141939, on an older release.
"""

import torch


class LastTwo(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers[0](x)
        for layer in self.layers[1:3]:
            x = layer(x)
        return x


def test_unflatten_loop(device: str) -> None:
    torch.manual_seed(0)
    model = LastTwo().to(device)
    x = torch.arange(6.0, device=device).reshape(2, 3)
    program = torch.export.export(model, (x,), strict=True)
    torch.testing.assert_close(torch.export.unflatten(program)(x), model(x))


if __name__ == "__main__":
    test_unflatten_loop("cpu")
