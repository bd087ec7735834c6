# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/172213"
# fix = "https://github.com/pytorch/pytorch/pull/184956"
# title = "A failed torch.export leaves a buffer hook behind that breaks later eager calls"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "mutation"]
# requires-torch = ">=2.2"
#
# [[tool.pt2bugs.bug]]
# check = "test_default_export"
# torch = ">=2.8,<2.13"
# outcome = "raise"
# error = "AssertionError"
# match = '^$|expected FakeTensor, got'
# frame = 'torch/_functorch/_aot_autograd/utils\.py:\d+ _map_assigned_buffer_to_proxy'
#
# [[tool.pt2bugs.bug]]
# check = "test_non_strict_export"
# torch = ">=2.6,<2.13"
# outcome = "raise"
# error = "AssertionError"
# match = '^$|expected FakeTensor, got'
# frame = 'torch/_functorch/_aot_autograd/utils\.py:\d+ _map_assigned_buffer_to_proxy'
# ///
"""Non-strict export records buffer assignments with a module-wide hook while it traces. When tracing fails
(here at the `if` on a buffer's value) the hook stayed registered, and the next assignment to any module's
buffer, in a plain eager call, ran tracing-only code that asserts a FakeTensor. Strict export installs no such
hook; torch.export.export became non-strict by default in the release where the default check begins to fail.
Correct: after the failed export, eager works and counts its steps. The message was empty up to torch 2.10.
Source: pytorch issue 172213, PRs 172567 and 184956 (the same cleanup; the second one landed).
"""

import contextlib

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("enabled", torch.tensor(True))
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        y = self.linear(x)
        if self.enabled:
            y = y * self.scale
        return y


def export_then_eager(device: str, backend: str, **options: bool) -> None:
    torch.manual_seed(0)
    model, x = Model().to(device), torch.randn(2, 4, device=device)
    expected = model(x)
    compiled = torch.compile(model, backend=backend)
    compiled(x).sum().backward()
    for _ in range(3):
        compiled(x)
    with contextlib.suppress(Exception):  # it is expected to fail
        torch.export.export(model, (x,), **options)
    actual = model(x)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(model.step, torch.tensor(6, device=device), rtol=0, atol=0)


def test_default_export(device: str, backend: str) -> None:
    export_then_eager(device, backend)


def test_non_strict_export(device: str, backend: str) -> None:
    export_then_eager(device, backend, strict=False)


if __name__ == "__main__":
    test_default_export("cpu", "aot_eager")
    test_non_strict_export("cpu", "aot_eager")
