# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.4.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/117265"
# fix = "https://github.com/pytorch/pytorch/pull/131275"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "A full backward pre-hook added after the first compiled call is ignored with hook guards on"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# requires-torch = ">=2.1"
# labels = ["hook"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.5"
# outcome = "wrong"
# error = "AssertionError"
# match = "gradient \\[1.0, 1.0\\], not \\[3.0, 3.0\\]"
# ///
"""By default Dynamo does not guard on a module's hooks (skip_nnmodule_hook_guards), so that hooks registered
later have no effect, which is documented. With these guards switched on a new hook must recompile; a module
reached through the closure of the compiled function had no such guard. Correct: the pre-hook triples the
gradient.
Source: pytorch issue 117265.
"""

import torch


def triple(module, grad_output):
    return tuple(grad * 3 for grad in grad_output)


def test_hook_after_the_first_call(device: str, backend: str) -> None:
    linear = torch.nn.Linear(2, 2, bias=False, device=device)
    torch.nn.init.eye_(linear.weight)
    compiled = torch.compile(lambda x: linear(x), backend=backend)
    x = torch.ones(2, device=device, requires_grad=True)
    with torch._dynamo.config.patch(skip_nnmodule_hook_guards=False):
        compiled(x)
        linear.register_full_backward_pre_hook(triple)
        compiled(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0], f"gradient {x.grad.tolist()}, not [3.0, 3.0]"


if __name__ == "__main__":
    test_hook_after_the_first_call("cpu", "aot_eager")
