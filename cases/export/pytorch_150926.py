# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150926"
# title = "torch.export of a module compiled in place with .compile() fails"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.10"
# check = "test_strict"
# outcome = "raise"
# error = "AssertionError"
# match = "Unexpectedly found a <class 'torch.Tensor'> in the outputs"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# check = "test_strict"
# outcome = "raise"
# error = "AssertionError"
# match = "Failed to produce a graph during tracing"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.9"
# check = "test_non_strict"
# outcome = "raise"
# error = "RuntimeError"
# match = "^Detected that you are using FX to symbolically trace a dynamo-optimized function"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9,<2.11"
# check = "test_non_strict"
# outcome = "raise"
# error = "AssertionError"
# match = "Guard (check )?failed.*torch_fn_counts"
# ///
"""Module.compile() stores a compiled call on the instance. When strict export then calls the module, that
call has a Dynamo context of its own, in which export's tracing does not take part: export captures an
empty graph and meets real tensors in its output. Correct: the exported program equals the module, as it
does for torch.compile(module). Source: issue 150926.
"""

import torch


class Project(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def export_after_compile_in_place(device: str, strict: bool) -> None:
    model = Project().to(device)
    x = torch.arange(6.0, device=device).reshape(2, 3)
    expected = model(x)
    model.compile(backend="eager")
    torch.testing.assert_close(model(x), expected)
    program = torch.export.export(model, (x,), strict=strict)
    torch.testing.assert_close(program.module()(x), expected)


def test_strict(device: str) -> None:
    export_after_compile_in_place(device, strict=True)


def test_non_strict(device: str) -> None:
    export_after_compile_in_place(device, strict=False)


if __name__ == "__main__":
    test_non_strict("cpu")
    test_strict("cpu")
