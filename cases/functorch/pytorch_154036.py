# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/154036"
# title = "vmap and jacrev over compiled functions return another shape than without compile"
# component = "functorch"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# ///
"""XXX
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
