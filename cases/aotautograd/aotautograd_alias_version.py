# /// script
# requires-python = ">=3.10,<3.12"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/111347"
# fix = "https://github.com/pytorch/pytorch/pull/128229"
# title = "_version and grad_fn of a view of an updated input"
# component = "aotautograd"
# symptom = "wrong-result"
# same-fix = "aotautograd_view_input_gradient"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["training", "mutation"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 4 / 4 \([\d.]+%\)\nGreatest absolute difference: 28\.0 '
# ///
"""An update of an input in place raises the version that it shares with its views, and gives it and them a new
grad_fn; both are how autograd knows that a saved value is stale, and which gradient is whose. In torch 2.2 and
2.3 the update is lost to the gradient of a view that was taken before the call, as it is to that of the base
(aotautograd_view_input_gradient). Correct: version, grad_fn and gradients of the input and of the view are as
in eager. Source: pytorch PRs 111347 and 113584.
"""

import torch


def update(a: torch.Tensor) -> torch.Tensor:
    a.mul_(2)
    return (a + 1).detach()


def run(fn: object, device: str) -> tuple[list, list[torch.Tensor]]:
    leaf = torch.arange(4.0, device=device, requires_grad=True)
    a = leaf.clone()
    view = a.view(2, 2)
    out = fn(a)
    facts = [(t._version, type(t.grad_fn).__name__) for t in (a, view)]
    gradient = torch.autograd.grad((a * 2).sum() + view.square().sum(), leaf)
    return facts, [out, a.detach(), view.detach(), *gradient]


def test_view_of_updated_input(device: str, backend: str) -> None:
    facts, values = run(update, device)
    compiled_facts, compiled_values = run(torch.compile(update, backend=backend), device)
    torch.testing.assert_close(compiled_values, values)
    versions, compiled_versions = [v for v, _ in facts], [v for v, _ in compiled_facts]
    assert compiled_versions == versions, f"_version {compiled_versions}, eager {versions}"
    view_fn, compiled_view_fn = facts[1][1], compiled_facts[1][1]
    assert compiled_view_fn == view_fn, f"grad_fn of the view {compiled_view_fn}, eager {view_fn}"


if __name__ == "__main__":
    test_view_of_updated_input("cpu", "aot_eager")
