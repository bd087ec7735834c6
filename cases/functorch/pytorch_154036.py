# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/154036"
# fix = "https://github.com/pytorch/pytorch/pull/185547"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "vmap and jacrev over compiled functions return another shape than without compile"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.11"
# outcome = "wrong"
# error = "AssertionError"
# match = "shape' do not match: torch\\.Size\\(\\[6, 6\\]\\) != torch\\.Size\\(\\[6\\]\\)"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.13"
# outcome = "raise"
# error = "AssertionError"
# match = "^$"
# frame = 'torch/_dynamo/eval_frame\.py:\d+ __call__'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "Cannot access data pointer of Tensor"
# frame = 'torch/random\.py:\d+ set_rng_state'
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_subclasses/meta_utils\.py:\d+ meta_tensor'
# blocked = true
# ///
"""torch.vmap and torch.func.jacrev build their wrappers with functools.wraps. From a compiled function that
also copies the attribute by which torch.compile finds the original, and compiling vmap(compiled) follows it
past the vmap: the Jacobian of the whole batch is returned in place of a derivative per element. Later an
assertion in torch.compile meets the copied attributes. Correct: shape and values equal eager's.
Source: issue 154036; PR 185547, and issue 172732 for the attribute.
"""

import torch


def derivative(fn):
    return lambda x: torch.func.jacrev(lambda y: (fn(y), y), has_aux=True)(x)[0]


def cube(x: torch.Tensor) -> torch.Tensor:
    return x**3


def test_vmap_of_compiled_jacrev(device: str, backend: str) -> None:
    x = torch.arange(6.0, device=device)
    expected = torch.vmap(derivative(cube))(x)
    compiled_derivative = torch.compile(derivative(torch.compile(cube, backend=backend)), backend=backend)
    actual = torch.compile(torch.vmap(compiled_derivative), backend=backend)(x)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_vmap_of_compiled_jacrev("cpu", "eager")
