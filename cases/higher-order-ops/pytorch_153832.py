# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/153832"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Export of torch.cond where a branch returns its operand"
# component = "higher-order-ops"
# symptom = "internal-error"
# # The thread: a safety check, until aliasing can be supported in the compiled path.
# kind = "limitation"
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["control-flow"]
# demands = ["control-flow", "aliasing"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9"
# outcome = "raise"
# error = "torch._dynamo.exc.UncapturedHigherOrderOpError"
# match = "Encountered aliasing during higher order op tracing[\\s\\S]*(\\.cond\\.CondOp|Found in cond\\b)"
#
# [[tool.pt2bugs.bug]]
# torch = "~=2.8.0"
# outcome = "raise"
# error = "torch._dynamo.exc.UncapturedHigherOrderOpError"
# match = "Cond doesn't work unless it is captured completely"
# frame = "higher_order_ops\\.py:\\d+ graph_break_as_hard_error"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3,<2.6"
# outcome = "raise"
# error = "torch._higher_order_ops.utils.UnsupportedAliasMutationException"
# match = "One of torch\\.cond branch might be aliasing the input"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "torch._higher_order_ops.cond.UnsupportedAliasMutationException"
# match = "One of torch\\.cond branch might be aliasing the input"
# ///
"""An output of a branch must not alias an operand. For branches that return an operand as it is, release 2.6
inserted what is needed; from 2.8 the check for aliasing comes first and refuses the program,
as did the releases up to 2.4. Correct: it exports, and the identity branch gives
the operand's values. Source: pytorch issue 153832.
"""

import torch


class AddOneIfPositive(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t, (x,))


def test_identity_branch() -> None:
    module = torch.export.export(AddOneIfPositive(), (torch.ones(3),)).module()
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(module(x), AddOneIfPositive()(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_identity_branch()
