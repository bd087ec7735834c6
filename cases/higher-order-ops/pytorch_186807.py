# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/186807"
# fix = "https://github.com/pytorch/pytorch/pull/180674"
# title = "A custom op that mutates its argument in a nested_compile_region"
# component = "higher-order-ops"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["custom-op"]
# demands = ["mutation", "custom-op", "control-flow"]
# requires-torch = ">=2.8"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.9,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "output has alias annotations: \\w+::\\w+\\(Tensor\\(a0!\\)"
#
# [[tool.pt2bugs.bug]]
# torch = "~=2.8.0"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.UncapturedHigherOrderOpError"
# match = "decorated function to be capturable into a single graph"
# ///
"""nested_compile_region turns a function into the body of a higher-order op. Functionalization of that body did not
handle a custom op with mutates_args, and met it as an op with alias annotations that it has to refuse.
Correct: the op works as it does outside the region: result and mutated argument equal eager's.
Source: pytorch issue 186807.
"""

import torch


@torch.library.custom_op("pytorch_186807::add_in_place", mutates_args=("destination",))
def add_in_place(destination: torch.Tensor, x: torch.Tensor) -> None:
    destination.add_(x)


@torch.compiler.nested_compile_region
def update(destination: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    torch.ops.pytorch_186807.add_in_place(destination, x)
    return destination * 2


def call(destination: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return update(destination, x)


def test_mutation_inside_the_region(device: str, backend: str) -> None:
    destination, x = torch.zeros(2, device=device), torch.ones(2, device=device)
    actual = torch.compile(call, backend=backend, fullgraph=True)(destination, x)
    assert actual.tolist() == [2.0, 2.0], f"result {actual.tolist()}"
    assert destination.tolist() == [1.0, 1.0], f"destination {destination.tolist()}"


if __name__ == "__main__":
    test_mutation_inside_the_region("cpu", "aot_eager")
