# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/120598"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "Methods of a stream that was made outside the compiled function"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cuda"]
# backends = ["eager"]
# labels = ["stream"]
# demands = []
# ///
"""A stream that the function takes from its globals gets a variable without a node of the graph in Dynamo.
Entering it as a context needs none, a method such as wait_stream is written into the graph as a call on that
missing node. Correct: x + 2 + 3, the second addition after the first. As reported compiling crashed, as the
stream was None in the graph. Source: pytorch issue 120598 (also 118204).
"""

import torch

FIRST = SECOND = None


def two_streams(x: torch.Tensor) -> torch.Tensor:
    with torch.cuda.stream(FIRST):
        x = x + 2
    SECOND.wait_stream(FIRST)
    with torch.cuda.stream(SECOND):
        return x + 3


def test_streams_from_globals(device: str, backend: str) -> None:
    global FIRST, SECOND
    FIRST, SECOND = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.arange(3.0, device=device)
    for run in (two_streams, torch.compile(two_streams, backend=backend)):  # eager is the control
        torch.cuda.synchronize()
        y = run(x)
        torch.cuda.synchronize()
        assert y.tolist() == [5, 6, 7], f"0, 1, 2 plus 5 is {y.tolist()}"


if __name__ == "__main__":
    test_streams_from_globals("cuda", "eager")
