# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/151478"
# title = "layer_norm of a half input with float parameters is accepted by its decomposition"
# component = "decomposition"
# symptom = "missing-error"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["aot_eager_decomp_partition"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'layer_norm takes half parameters for a float input and gives torch\.float32'
# ///
"""Eager's kernel asks for parameters of the input's type. The decomposition computes in float and promotes what it gets.
Correct: eager's refusal, so that a program does not depend on the compiler.
Source: pytorch issue 151478.
"""

import torch


def normalized(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, (4,), weight)


def test_mixed_types_are_refused(backend: str) -> None:
    compiled, x = torch.compile(normalized, backend=backend), torch.arange(8.0).reshape(2, 4)
    compiled(x, torch.ones(4))
    try:
        out = compiled(x, torch.ones(4, dtype=torch.float16))
    except Exception as error:
        assert "expect" in str(error), f"half parameters are refused by {error}"
    else:
        raise AssertionError(f"layer_norm takes half parameters for a float input and gives {out.dtype}")


if __name__ == "__main__":
    test_mixed_types_are_refused("aot_eager_decomp_partition")
