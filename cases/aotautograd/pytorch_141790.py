# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141790"
# fix = "https://github.com/pytorch/pytorch/pull/177684"
# title = "The AOTAutograd cache never hits for a function whose backward is not run"
# component = "aotautograd"
# symptom = "recompilation"
# devices = ["cpu"]
# backends = ["inductor"]
# requires-torch = ">=2.5"
# labels = ["cache"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "wrong"
# error = "AssertionError"
# match = "0 hits, 2 misses in the AOTAutograd cache"
# ///
"""AOTAutograd writes an entry of its cache when forward and backward are compiled. Where backward is compiled
lazily, at the first backward(), a program that only runs forward never writes one, and every process compiles
it again. Correct: after a reset the second compilation is served from the cache. Source: pytorch issue 141790,
PR 177684.
"""

import torch
import torch._functorch.config as functorch_config
import torch._inductor.config as inductor_config
from torch._dynamo.utils import counters


def total(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    for factor in range(2):
        a = a + b * factor
    return a


def test_forward_alone_is_cached(device: str, backend: str) -> None:
    counters.clear()
    with functorch_config.patch(enable_autograd_cache=True), inductor_config.patch(fx_graph_cache=True):
        for _ in range(2):
            torch._dynamo.reset()
            a = torch.ones(2, device=device, requires_grad=True)
            torch.compile(total, backend=backend)(a, torch.ones(2, device=device))
    seen = counters["aot_autograd"]
    hits, misses = seen["autograd_cache_hit"], seen["autograd_cache_miss"]
    assert hits == 1, f"{hits} hits, {misses} misses in the AOTAutograd cache"


if __name__ == "__main__":
    test_forward_alone_is_cached("cpu", "inductor")
