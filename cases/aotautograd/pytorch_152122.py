# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/152122"
# title = "bmm of a jagged tensor with a tensor that requires grad does not compile"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["jagged"]
# demands = ["training", "subclass"]
# requires-torch = ">=2.4"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "`aot_eager` failed with aten\\._local_scalar_dense|Backend compiler failed with a fake tensor exception"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Failed running call_method bmm[\\s\\S]*\\naten\\.bmm\\.default"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "Failed running call_method bmm[\\s\\S]*\\naten\\.bmm\\.default"
# ///
"""The backward of bmm multiplies a dense tensor with the jagged one, a mixture for which the jagged layout has no
rule. Without compilation that backward is not reached before backward() is called; AOTAutograd traces it in the
forward call. Correct: eager's result. Source: pytorch issue 152122.
"""

import torch


def product(nested: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    return nested.bmm(dense)


def test_gradient_of_the_dense_argument(device: str, backend: str) -> None:
    rows = [torch.ones(n, 4, device=device) for n in (1, 1, 2)]
    nested = torch.nested.nested_tensor(rows, layout=torch.jagged, requires_grad=True)
    dense = torch.ones(3, 4, 5, device=device, requires_grad=True)
    torch.compile(product, backend=backend, fullgraph=True)(nested, dense).values().sum().backward()
    actual = dense.grad[:, 0, 0].tolist()
    assert actual == [1.0, 1.0, 2.0], f"gradients are {actual}"


if __name__ == "__main__":
    test_gradient_of_the_dense_argument("cpu", "aot_eager")
