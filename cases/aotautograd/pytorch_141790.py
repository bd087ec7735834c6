# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141790"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "The AOTAutograd cache never hits when the backward only hands gradients on"
# component = "aotautograd"
# symptom = "recompilation"
# devices = ["cpu"]
# requires-torch = ">=2.5"
# labels = ["cache"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "0 hits and 2 misses in the AOTAutograd cache"
# ///
"""The gradient of x + y @ y in x is the incoming gradient itself: the backward graph holds no operator. Inductor
hands such a graph back as it is, without an entry in its FX graph cache. AOTAutograd's cache saves forward and
backward by the keys of their entries there; for want of the second key it saves nothing, and the same program
misses each time. Correct: the second compilation of the same program hits.
Source: pytorch issue 141790.
"""

import torch
import torch._functorch.config
import torch._inductor.config
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_inductor_cache


def add_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.addmm(x, y, y)


def test_second_compilation_hits(device: str, backend: str) -> None:
    counters.clear()
    with (
        fresh_inductor_cache(),
        torch._inductor.config.patch(fx_graph_cache=True),
        torch._functorch.config.patch(enable_autograd_cache=True),
    ):
        for _ in range(2):
            torch._dynamo.reset()
            x = torch.ones(2, 2, device=device, requires_grad=True)
            torch.compile(add_product, backend=backend)(x, torch.ones(2, 2, device=device)).sum().backward()
    found = counters["aot_autograd"]
    hits, misses = found["autograd_cache_hit"], found["autograd_cache_miss"]
    assert hits == 1, f"{hits} hits and {misses} misses in the AOTAutograd cache"


if __name__ == "__main__":
    test_second_compilation_hits("cpu", "inductor")
