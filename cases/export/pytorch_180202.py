# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180202"
# fix = "https://github.com/pytorch/pytorch/pull/181084"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "Export of scaled_dot_product_attention asks whether an unbacked batch size is 1"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# compiles = false
# requires-torch = ">=2.3"
# labels = ["attention"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "raise"
# error = "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode"
# match = 'Could not guard on data-dependent expression Eq\(u0, 1\) \(unhinted: Eq\(u0, 1\)\)'
# ///
"""Rows are selected by a mask, so their number is known at run time alone. On the CPU the choice between the fused kernel and
the plain one looks at how the attention mask broadcasts, and asks whether that number is 1. Correct: the exported
program gives eager's result.
Source: pytorch issue 180202.
"""

import torch


class Attention(torch.nn.Module):
    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        x = x[keep]
        mask = torch.ones(x.shape[0], 1, x.shape[2], x.shape[2], dtype=x.dtype, device=x.device)
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def test_selected_rows(device: str) -> None:
    x = torch.linspace(-1, 1, 3 * 2 * 4 * 8, device=device).reshape(3, 2, 4, 8)
    keep = torch.tensor([True, False, True], device=device)
    program = torch.export.export(Attention(), (x, keep), strict=False)
    torch.testing.assert_close(program.module()(x, keep), Attention()(x, keep))


if __name__ == "__main__":
    test_selected_rows("cpu")
