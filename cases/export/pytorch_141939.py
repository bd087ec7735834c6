# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141939"
# fix = "https://github.com/pytorch/pytorch/pull/142823"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "unflatten of a strict export that calls a module out of a slice of a ModuleList"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# requires-torch = ">=2.3"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# outcome = "raise"
# error = "AttributeError"
# match = "`_modules` is not an nn.Module"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.6"
# outcome = "raise"
# error = "RuntimeError"
# match = 'nonexistent target layers\.slice\(1, 3, None\)\._modules'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "RuntimeError"
# match = 'nonexistent target layers\.slice\(1, 3, None\)\._modules'
# ///
"""Slicing a ModuleList makes a new ModuleList, which has no name in the module tree. Strict export records
its elements with paths that run through the list's internals (`_modules`), and unflatten, which looks up
every component of such a path as a submodule, fails. Correct: the unflattened module equals eager. (A loop
over the slice: export_loop_over_module_list_slice.) Source: pytorch issue 141939, PR 142823.
"""

import torch


class OneOfSlice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers[1:3][0](self.layers[0](x))


def test_unflatten_sliced_module_list(device: str) -> None:
    torch.manual_seed(0)
    model = OneOfSlice().to(device)
    x = torch.arange(6.0, device=device).reshape(2, 3)
    program = torch.export.export(model, (x,), strict=True)
    torch.testing.assert_close(torch.export.unflatten(program)(x), model(x))


if __name__ == "__main__":
    test_unflatten_sliced_module_list("cpu")
