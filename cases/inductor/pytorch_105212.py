# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.0.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/105212"
# fix = "https://github.com/pytorch/pytorch/pull/105315"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "max-autotune of a batched product of a tensor with itself"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cuda"]
# timeout = 180
# labels = ["max-autotune"]
# demands = []
# ///
"""With max-autotune Inductor writes a Triton kernel for bmm from a template with two named inputs. Both are the
same buffer here, which gets one argument, and the generator asserts that there is one for each input. Templates
are used on GPUs with many multiprocessors only. Correct: it compiles and equals eager. As reported: an
AssertionError in TritonTemplate.generate, for torch.bmm with equal inputs. Source: pytorch issue 105212.
"""

import torch


def square(x: torch.Tensor) -> torch.Tensor:
    return torch.bmm(x, x)


def test_product_with_itself(device: str) -> None:
    x = torch.eye(64, device=device, dtype=torch.float16).expand(8, 64, 64).contiguous()
    compiled = torch.compile(square, mode="max-autotune")
    torch.testing.assert_close(compiled(x), square(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_product_with_itself("cuda")
