# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/128711"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "vmap of a compiled function is refused"
# component = "functorch"
# symptom = "internal-error"
# kind = "limitation"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.1"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'torch\.func\.vmap\(fn\) requires the function to be inlined by dynamo'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "meta converter nyi with fake tensor propagation"
# ///
"""vmap calls the compiled function with batched tensors. Dynamo met the transform when it began to trace and gave
up with an error, where it could run the function uncompiled. Correct: the values of eager. Source: pytorch issue
128711.
"""

import torch


def sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


def test_batched_call(device: str, backend: str) -> None:
    x = torch.linspace(0, 1, 6, device=device).reshape(2, 3)
    compiled = torch.compile(sine, backend=backend, fullgraph=True)
    torch.testing.assert_close(torch.func.vmap(compiled)(x), x.sin())


if __name__ == "__main__":
    test_batched_call("cpu", "aot_eager")
