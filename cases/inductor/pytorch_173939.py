# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/173939"
# fix = "https://github.com/pytorch/pytorch/pull/174595"
# title = "Constructors with pin_memory=True return memory that is not pinned"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# labels = ["pinned-memory"]
# demands = ["randomness"]
# ///
"""torch.ones, zeros, full, rand and tensor take pin_memory=True. A pass over the joint graph that replaces tensors
of one value by full writes pin_memory=False into it, the lowering of random numbers has no such argument, and
constants made from Python values are stored in pageable memory. Correct: every result is pinned, as in eager,
so that non-blocking copies do not wait. As reported the compiled function returned unpinned tensors without a
word. Source: pytorch issue 173939, PR 174595 (the first three), PR 183977.
"""

import torch

MAKERS = {
    "ones": lambda: torch.ones(3, pin_memory=True),
    "zeros": lambda: torch.zeros(3, pin_memory=True),
    "full": lambda: torch.full((3,), 2.0, pin_memory=True),
    "rand": lambda: torch.rand(3, pin_memory=True),
    "tensor": lambda: torch.tensor([1.0, 2.0, 3.0], pin_memory=True),
}


def test_pinned_constructors(backend: str) -> None:
    assert all(make().is_pinned() for make in MAKERS.values())
    unpinned = [name for name, make in MAKERS.items() if not torch.compile(make, backend=backend)().is_pinned()]
    assert not unpinned, f"not pinned: {', '.join(unpinned)}"


if __name__ == "__main__":
    test_pinned_constructors("inductor")
