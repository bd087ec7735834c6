# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/145775"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A dimension marked unbacked is specialized in silence"
# component = "dynamic-shapes"
# symptom = "missing-error"
# kind = "by-design"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["mark-dynamic"]
# demands = ["dynamic-shapes"]
# requires-torch = ">=2.5"
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "dimension 1 was specialized to 5 in silence"
# ///
"""mark_unbacked promises a graph without an assumption on the dimension. Where the code forces it to a value, here cat
with a tensor of 5 columns, a runtime assertion fixes the symbol to 5 and nothing is said. Correct: an
error, as mark_dynamic gives. Source: pytorch issue 145775.
"""

import torch
from torch._dynamo.utils import counters


def append_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, torch.ones(5, 5, device=x.device)])


def test_forced_dimension_is_refused(device: str, backend: str) -> None:
    x = torch.ones(5, 5, device=device)
    torch._dynamo.decorators.mark_unbacked(x, 1)
    try:
        torch.compile(append_rows, backend=backend)(x)
    except Exception:
        return
    assert not counters["stats"]["unique_graphs"], "dimension 1 was specialized to 5 in silence"


if __name__ == "__main__":
    test_forced_dimension_is_refused("cpu", "eager")
