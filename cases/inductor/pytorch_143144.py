# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/143144"
# fix = "https://github.com/pytorch/pytorch/pull/143808"
# title = "A frozen graph from the FX graph cache misses a weight that max-autotune packed"
# component = "inductor"
# symptom = "backend-failure"
# devices = ["cpu"]
# requires-torch = ">=2.6"
# timeout = 180
# labels = ["cache", "freezing"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = "==2.6.*"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "object has no attribute 'constant2'"
# ///
"""With freezing, the cache's entry of a graph holds the names of its constants, and on a hit their values are read
from the graph at hand. Max-autotune packs the weight for the C++ GEMM template while it lowers the graph; this
new constant is no attribute of the graph, so that the entry cannot be loaded. (Before 2.6 frozen graphs were
not cached.) Correct: eager's result, whether the code comes from the cache or not.
Source: pytorch issue 143144, PR 143808.
"""

import torch
import torch._inductor.config
from torch._inductor.utils import fresh_inductor_cache

OPTIONS = {"freezing": True, "fx_graph_cache": True, "max_autotune": True, "max_autotune_gemm_backends": "CPP"}


def test_frozen_graph_from_the_cache(device: str, backend: str) -> None:
    model, x = torch.nn.Linear(64, 64).eval().to(device), torch.ones(32, 64, device=device)
    with torch.no_grad(), fresh_inductor_cache(), torch._inductor.config.patch(OPTIONS):
        for _ in range(2):
            torch._dynamo.reset()
            actual = torch.compile(model, backend=backend, dynamic=True)(x)
            torch.testing.assert_close(actual, model(x))


if __name__ == "__main__":
    test_frozen_graph_from_the_cache("cpu", "inductor")
