# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/192872"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An item appended before a graph break to a list of a traced class is lost"
# component = "dynamo"
# symptom = "wrong-result"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.13"
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "items of the traced class: \\['after'\\]"
# ///
"""With enable_trace_load_build_class Dynamo traces a class statement in the frame. A list that is an attribute
of such a class is appended to before a graph break; when the class is rebuilt for the code after the break,
the append is not replayed. Correct: the list holds both items, as in eager.
Source: pytorch issue 192872.
"""

import torch


def collect(x: torch.Tensor) -> tuple[torch.Tensor, list[str]]:
    class Box:
        items: list[str] = []

    Box.items.append("before")
    y = x * 2
    torch._dynamo.graph_break()
    Box.items.append("after")
    return y + 1, Box.items


def test_append_before_graph_break(device: str, backend: str) -> None:
    with torch._dynamo.config.patch(enable_trace_load_build_class=True):
        _, items = torch.compile(collect, backend=backend)(torch.zeros(1, device=device))
    assert items == ["before", "after"], f"items of the traced class: {items}"


if __name__ == "__main__":
    test_append_before_graph_break("cpu", "eager")
