# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/191308"
# fix = "https://github.com/pytorch/pytorch/pull/191324"
# title = "A batched int8 matrix product with one row gives int64"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# match = "int8 batched product has dtype torch\\.int64"
# ///
"""On the CPU, Inductor turns a batched product with a single row or column into a multiplication and a sum. A sum of
int8 is int64 by the rules of promotion, and nothing casts it back. Correct: a product of int8 is int8, as in
eager and as on aot_eager. Source: pytorch issue 191308, PR 191324.
"""

import torch


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a, b)


def test_dtype_of_the_product(device: str, backend: str) -> None:
    a = torch.full((2, 1, 3), 2, dtype=torch.int8, device=device)
    b = torch.full((2, 3, 4), 3, dtype=torch.int8, device=device)
    actual, expected = torch.compile(product, backend=backend)(a, b), product(a, b)
    assert actual.dtype == expected.dtype, f"int8 batched product has dtype {actual.dtype}"
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def bench_product(device: str) -> tuple:
    a, b = torch.randint(-9, 9, (64, 1, 128), device=device), torch.randint(-9, 9, (64, 128, 128), device=device)
    return product, (a.to(torch.int8), b.to(torch.int8))


if __name__ == "__main__":
    test_dtype_of_the_product("cpu", "inductor")
