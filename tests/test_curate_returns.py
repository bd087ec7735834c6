"""What a function gives back, as its text says."""

from __future__ import annotations

import ast

import pytest
from pt2bugs.curate.returns import gives_nothing, gives_truth


def function(body: str) -> ast.FunctionDef:
    definition = ast.parse("def f(x, y):\n" + "\n".join(f"    {line}" for line in body.splitlines())).body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


@pytest.mark.parametrize(
    "body",
    [
        "return True",
        "return not x",
        "return x is y",
        "return x.is_contiguous()",
        "return torch.equal(x, y) and x.shape == (2, 3)",
        "return x.sum().item() > 0",
        "return x.dtype == torch.float32",
        "same = x.equal(y)\nreturn same",
        "if x.dim() > 1:\n    return False\nreturn isinstance(x, torch.Tensor)",
    ],
)
def test_a_bool(body: str) -> None:
    assert gives_truth(function(body))


@pytest.mark.parametrize(
    "body",
    [
        "x.add_(1)",
        "return x > 0",
        "return x == y.shape[0]",
        "return x.sum().item()",
        "return x.isnan()",
        "return x.is_contiguous(), x",
        "if x.dim() > 1:\n    return x\nreturn False",
        "same = x.equal(y)\nsame &= x > 0\nreturn same",
        "same = same or x\nreturn same",
        "def g():\n    return True\nreturn x",
    ],
)
def test_what_may_be_a_tensor(body: str) -> None:
    assert not gives_truth(function(body))


@pytest.mark.parametrize(
    ("body", "nothing"),
    [("x.add_(1)", True), ("return", True), ("return x", False), ("yield x", False), ("def g():\n    return 1", True)],
)
def test_nothing(body: str, nothing: bool) -> None:
    assert gives_nothing(function(body)) is nothing
