# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.5.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/107076"
# fix = "https://github.com/pytorch/pytorch/pull/138922"
# title = "A compiled optimizer step recompiles for each learning rate"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["optimizer", "recompilation"]
# demands = ["mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "wrong"
# error = "AssertionError"
# match = "compiled 5 times for 5 steps"
# ///
"""The learning rate is a Python float in the parameter group, and Dynamo specializes on floats: each value that a
scheduler sets fails the guard and compiles the step anew, until the limit. Correct: a float that was seen to
change becomes an input of the graph: at most two compilations. Source: pytorch issue 107076.
"""

import torch


def test_step_under_a_scheduler(device: str) -> None:
    compilations = []

    def backend(graph_module, example_inputs):
        compilations.append(graph_module)
        return graph_module

    weight = torch.nn.Parameter(torch.ones(2, device=device))
    weight.grad = torch.ones_like(weight)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    step = torch.compile(optimizer.step, backend=backend)
    for _ in range(5):
        step()
        scheduler.step()
    assert weight.tolist() == [0.03125, 0.03125], f"weight {weight.tolist()}"
    assert len(compilations) <= 2, f"compiled {len(compilations)} times for 5 steps"


if __name__ == "__main__":
    test_step_under_a_scheduler("cpu")
