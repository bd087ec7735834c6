# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/115750"
# upstream = "open"
# upstream-seen = 2026-11-25
# # The thread was closed as a duplicate of 117265 once; both are open.
# title = "A full backward hook registered after the first compiled call is ignored"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["hook", "by-design"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "gradient \\[1\\.0, 1\\.0\\], with the hook \\[2\\.0, 2\\.0\\]"
# ///
"""A full backward hook changes what a call of its module does: inputs and outputs pass through autograd functions that
run it. Dynamo has no guard on the module's empty dict of backward hooks (newer releases have one behind
skip_nnmodule_hook_guards=False), so the function compiled without a hook serves the module with one. Correct: the
hook doubles the gradient, as in eager. Source: pytorch issue 115750.
"""

import torch


def test_hook_after_the_first_call(device: str, backend: str) -> None:
    linear = torch.nn.Linear(2, 2, bias=False).to(device)
    torch.nn.init.eye_(linear.weight)
    compiled = torch.compile(lambda x: linear(x), backend=backend)
    compiled(torch.ones(2, device=device, requires_grad=True))
    linear.register_full_backward_hook(lambda module, grad_in, grad_out: tuple(grad * 2 for grad in grad_in))
    gradients = []
    for fn in (compiled, linear):
        x = torch.ones(2, device=device, requires_grad=True)
        fn(x).sum().backward()
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1], f"gradient {gradients[0]}, with the hook {gradients[1]}"


if __name__ == "__main__":
    test_hook_after_the_first_call("cpu", "aot_eager")
