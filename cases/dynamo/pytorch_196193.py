# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/196193"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "torch.cuda.stream(None) cannot be traced"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["stream", "context-manager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "^\\s+from user code:"
# frame = "utils\\.py:\\d+ get_fake_value"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.2"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "Failed running call_function <function current_stream"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'ConstantVariable' object has no attribute 'device'"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "'ConstantVariable' object has no attribute 'user_object_index'"
# ///
"""torch.cuda.stream(None) is documented to do nothing. Dynamo has a constant for its argument and a variable class
for the context that expects a stream, whose index among the user objects it reads without a look. Correct: the
context changes nothing and the function is traced as a whole. Eager takes it on machines without a GPU, too.
Source: pytorch issue 196193, PR 196196.
"""

import torch


def add_one(x: torch.Tensor) -> torch.Tensor:
    with torch.cuda.stream(None):
        return x + 1


def test_no_stream(device: str, backend: str) -> None:
    x = torch.zeros(3, device=device)
    torch.testing.assert_close(torch.compile(add_one, backend=backend, fullgraph=True)(x), add_one(x))


if __name__ == "__main__":
    test_no_stream("cpu", "eager")
