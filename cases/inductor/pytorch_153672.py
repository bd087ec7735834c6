# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.7.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/153672"
# fix = "https://github.com/pytorch/pytorch/pull/153672"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "The FX graph cache does not know of a pass before fusion"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# requires-torch = ">=2.5"
# labels = ["cache"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.8"
# outcome = "wrong"
# error = "AssertionError"
# match = "the pass was not called for a graph that was compiled without it before"
# ///
"""The key of Inductor's FX graph cache leaves out all options whose names begin with an underscore, and
_pre_fusion_custom_pass changes what is generated. The code of before is taken, and the pass is never called. Correct:
the pass is called.
Source: pytorch pull request 153672.
"""

import torch
import torch._inductor.config


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def test_pass_is_called(device: str, backend: str) -> None:
    calls = []

    def note(nodes: list) -> list:
        calls.append(len(nodes))
        return nodes

    x = torch.zeros(3, device=device)
    with torch._inductor.config.patch(fx_graph_cache=True):
        torch.compile(plus_one, backend=backend)(x)
        torch._dynamo.reset()
        with torch._inductor.config.patch(_pre_fusion_custom_pass=note):
            assert torch.compile(plus_one, backend=backend)(x).eq(1).all()
    assert calls, "the pass was not called for a graph that was compiled without it before"


if __name__ == "__main__":
    test_pass_is_called("cpu", "inductor")
