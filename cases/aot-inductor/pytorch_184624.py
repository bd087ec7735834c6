# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/184624"
# fix = "https://github.com/pytorch/pytorch/pull/184624"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "AOTInductor's run-time check names the size of an input that has another name by then"
# component = "aot-inductor"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# requires-torch = ">=2.6"
# timeout = 240
# compiles = false
# labels = ["aot-inductor"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.UserError"
# match = 'Could not guard on data-dependent expression u\d+ > 4 \(unhinted: u\d+ > s\d+\)'
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.10"
# outcome = "raise"
# error = "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode"
# match = 'Could not guard on data-dependent expression u\d+ > 4 \(unhinted: u\d+ > s\d+\)'
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10,<2.13"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = 'error: .s\d+. was not declared in this scope'
# ///
"""Three inputs share one dynamic size, and each is cut to a length that depends on data, which is checked against the size
while the program runs. Export first gives every input a symbol of its own and finds later that they are equal. The
generated code defines the one that is left; the check was noted down before and names the others. Correct: it compiles.
Source: pytorch pull request 184624.
"""

import torch
import torch._inductor


class SumOfCuts(torch.nn.Module):
    def forward(self, x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        count = x.nonzero().shape[0]
        return x[:count] + a[:count] + b[:count]


def test_inputs_share_a_size(device: str) -> None:
    size = torch.export.Dim("size", min=2, max=1024)
    ones, x = torch.ones(4, device=device), torch.tensor([1.0, 1.0, 1.0, 0.0], device=device)
    exported = torch.export.export(SumOfCuts(), (x, ones, ones.clone()), dynamic_shapes=({0: size},) * 3)
    model = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(exported))
    found = model(x, ones, ones).tolist()
    assert found == [3.0, 3.0, 3.0], f"the sum of the three cuts is {found}"


if __name__ == "__main__":
    test_inputs_share_a_size("cpu")
