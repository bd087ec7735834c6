# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/197519"
# fix = "https://github.com/pytorch/pytorch/pull/197557"
# title = "The FX graph cache does not tell pinned constants from pageable ones"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# requires-torch = ">=2.3"
# labels = ["cache", "pinned-memory"]
# demands = []
# ///
"""The key of Inductor's FX graph cache has a constant's values, dtype, sizes, strides and device in it, but not
whether its memory is pinned. Of two graphs that differ in nothing else the second gets the code of the first.
Correct: pinned, then pageable. As reported both results were pinned, and both pageable in the other order.
Releases that ignore the flag at all return (False, False), the bug of issue 173939. Source: pytorch issue
197519, PR 197557.
"""

import torch
import torch._inductor.config


def make(pinned: bool, backend: str) -> torch.Tensor:
    def constant() -> torch.Tensor:
        return torch.tensor([1, 2, 3], pin_memory=pinned)

    torch._dynamo.reset()
    return torch.compile(constant, backend=backend)()


def test_pinned_then_pageable(backend: str) -> None:
    with torch._inductor.config.patch(fx_graph_cache=True):
        kinds = make(True, backend).is_pinned(), make(False, backend).is_pinned()
    assert kinds == (True, False), f"pinned: {kinds}"


if __name__ == "__main__":
    test_pinned_then_pageable("inductor")
