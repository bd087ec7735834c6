# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/169545"
# fix = "https://github.com/pytorch/pytorch/pull/184003"
# title = "Gradient accumulation under CUDA graphs fails with advice that does not help"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cuda"]
# requires-torch = ">=2.1"
# labels = ["cudagraphs"]
# demands = ["training"]
# ///
"""The first backward pass puts its output, memory of a CUDA graph, into .grad. The next one gives that memory back
and then accumulates into it. Upstream keeps that and says so from torch 2.13 on: the message names .grad and
what to do. Before, it told users to clone the outputs and to mark the steps, which the program does. Correct:
the sum of the gradients, as in eager, or the message that names .grad. As reported the advice was followed and
the same error came back in the second step. Source: pytorch issue 169545 (also 146569), PR 184003.
"""

import torch

STEPS = 3


def train(model, parameter: torch.Tensor, device: str) -> torch.Tensor:
    for _ in range(STEPS):
        torch.compiler.cudagraph_mark_step_begin()
        output = model(torch.ones(10, device=device)).clone()
        output.sum().backward()
    return parameter.grad.clone()


def test_three_backward_passes(device: str) -> None:
    model = torch.nn.Linear(10, 1).to(device)
    expected = torch.full_like(model.weight, STEPS)
    torch.testing.assert_close(train(model, model.weight, device), expected)
    model.zero_grad(set_to_none=True)
    try:
        actual = train(torch.compile(model, mode="reduce-overhead"), model.weight, device)
    except RuntimeError as error:
        if ".grad" not in str(error):
            raise
    else:
        torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_three_backward_passes("cuda")
