# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/154161"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "Compiled autograd cannot accumulate a second sparse gradient"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["compiled-autograd"]
# demands = ["training"]
# requires-torch = ">=2.1"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.13"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "IndexError: (list|tuple) index out of range"
# frame = 'torch/_dynamo/pgo\.py:\d+ is_stride_dynamic'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "IndexError: list index out of range"
# frame = 'torch/_dynamo/variables/builder\.py:\d+ (update_frame_state|_automatic_dynamic)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.13"
# outcome = "raise"
# error = "IndexError"
# match = "tuple index out of range"
# frame = 'pgo\.py:\d+ is_stride_dynamic'
# ///
"""To find sizes and strides that change, Dynamo keeps those of each input from one compilation to the next. A sparse
tensor has sizes and no strides, and was kept with an empty tuple of strides. Compiled autograd gives the sparse gradient of
an embedding to Dynamo at each backward; the second compilation asks for the stride of a dimension. Correct: the
gradients of the two backward passes add up, as in eager. Source: pytorch issue 154161, PR 185536.
"""

import functools

import torch
from torch._dynamo import compiled_autograd

enable = getattr(compiled_autograd, "_enable", None) or compiled_autograd.enable


def test_two_sparse_gradients_add_up(device: str, backend: str) -> None:
    embedding = torch.nn.Embedding(4, 2, sparse=True, device=device)
    for index in (1, 2):
        out = embedding(torch.tensor([index], device=device))
        with enable(functools.partial(torch.compile, backend=backend)):
            out.sum().backward()
    expected = torch.tensor([0.0, 1.0, 1.0, 0.0], device=device)[:, None].expand(4, 2)
    torch.testing.assert_close(embedding.weight.grad.to_dense(), expected, rtol=0, atol=0)


if __name__ == "__main__":
    test_two_sparse_gradients_add_up("cpu", "eager")
