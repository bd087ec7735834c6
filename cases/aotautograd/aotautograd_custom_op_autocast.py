# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/156356"
# title = "A custom operator with an autocast kernel, in forward and backward"
# component = "aotautograd"
# symptom = "wrong-result"
# same-fix = "pytorch_153044"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["custom-op"]
#
# [tool.pt2bugs.demands]
# test_autocast_inside = ["autocast", "custom-op"]
# test_autocast_around_forward = ["training", "autocast", "custom-op"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1"
# check = "test_autocast_around_forward"
# outcome = "wrong"
# error = "AssertionError"
# match = '\(\[0\.0, 1\.0, 2\.0\], \[1\.0, 2\.0, 3\.0\]\), eager \(\[0\.0, 1\.0, 2\.0\], \[0\.0, 1\.0, 2\.0\]\)'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# check = "test_autocast_around_forward"
# blocked = true
# outcome = "wrong"
# error = "AssertionError"
# match = '\(\[1\.0, 2\.0, 3\.0\], \[0\.0, 1\.0, 2\.0\]\), eager \(\[0\.0, 1\.0, 2\.0\], \[0\.0, 1\.0, 2\.0\]\)'
# ///
"""A kernel registered for the Autocast key runs instead of the operator's own where autocast is on, and may do
anything, here it adds one. The traced graph holds what autocast made of the call and runs with autocast off.
Forward switches it off inside an autocast, so the operator itself runs there; backward() is called outside,
so it has to be the operator itself again; but the backward was traced under the autocast that surrounds forward,
and holds what its kernel does. (Torch 2.0 loses the switch inside of forward already.) Correct: output and
gradient as in eager. Source: pytorch PR 156356, issue 153044.
"""

import torch

library = torch.library.Library("pt2bugs_autocast", "DEF")
library.define("foo(Tensor x) -> Tensor")
library.impl("foo", torch.clone, "CompositeExplicitAutograd")
for key in ("AutocastCPU", "AutocastCUDA"):
    library.impl("foo", lambda x: x + 1, key)


class Foo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.ops.pt2bugs_autocast.foo(x)

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad * torch.ops.pt2bugs_autocast.foo(x)


def off_inside(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast(x.device.type, enabled=False):
        return Foo.apply(x)


def on_inside(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        return torch.ops.pt2bugs_autocast.foo(x) * 1


def test_autocast_inside(device: str, backend: str) -> None:
    x = torch.arange(3.0, device=device)
    assert on_inside(x).tolist() == [1, 2, 3], "eager control"
    torch.testing.assert_close(torch.compile(on_inside, backend=backend)(x), on_inside(x))


def test_autocast_around_forward(device: str, backend: str) -> None:
    results = []
    for fn in (off_inside, torch.compile(off_inside, backend=backend)):
        x = torch.arange(3.0, device=device, requires_grad=True)
        with torch.autocast(device, dtype=torch.bfloat16):
            out = fn(x)
        (gradient,) = torch.autograd.grad(out.sum(), x)
        results.append((out.tolist(), gradient.tolist()))
    assert results[1] == results[0], f"output and gradient {results[1]}, eager {results[0]}"


if __name__ == "__main__":
    test_autocast_around_forward("cpu", "aot_eager")
    test_autocast_inside("cpu", "aot_eager")
