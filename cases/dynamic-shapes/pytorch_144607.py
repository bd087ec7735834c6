# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/144607"
# title = "The second shape of a tensor on meta does not compile"
# component = "dynamic-shapes"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["inductor"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "LoweringException: AssertionError: \\n\\s+target: aten\\.empty_strided\\.default"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "No interface for device meta"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Cannot re-initialize CUDA|Found no NVIDIA driver"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "'NoneType' object is not callable"
# frame = "graph\\.py:\\d+ init_wrapper_code"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.8"
# outcome = "raise"
# error = "torch._inductor.exc.InductorError"
# match = "AssertionError: \\n\\s+target: aten\\.empty_strided\\.default"
# ///
"""For a graph whose tensors are all on meta there is nothing to run. With fixed sizes Inductor gets away with it; the
second shape is compiled with symbolic sizes, which need code that computes them, and lowering stops at the device it
knows no code for. Correct: the result has the new shape, as in eager. Source: pytorch issue 144607.
"""

import torch


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_two_shapes_on_meta(backend: str) -> None:
    compiled = torch.compile(double, backend=backend)
    for shape in ((1, 16, 128), (1, 32, 64)):
        actual = compiled(torch.empty(shape, device="meta"))
        assert actual.shape == shape, actual.shape
        assert actual.device.type == "meta", actual.device


if __name__ == "__main__":
    test_two_shapes_on_meta("inductor")
