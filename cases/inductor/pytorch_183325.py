# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/183325"
# fix = "https://github.com/pytorch/pytorch/pull/183438"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "Tensor descriptors for large matrices access illegal memory"
# component = "inductor"
# symptom = "crash"
# devices = ["cuda"]
# requires-torch = ">=2.9"
# demands = []
# ///
"""With triton.use_tensor_descriptor a pointwise kernel loads and stores blocks by TMA, a copy engine that GPUs
have from compute capability 9.0 on; for others it compiles an ordinary kernel. Up to about 43 million elements
the sum of two bfloat16 matrices was right, beyond the kernel left its memory. Correct: 1 + 2 = 3 everywhere. As
reported: CUDA error, an illegal memory access was encountered. Source: pytorch issue 183325.
"""

import torch


def test_fifty_million_elements(device: str) -> None:
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y

    options = {"triton.use_tensor_descriptor": True, "assume_aligned_inputs": True}
    compiled = torch.compile(add, fullgraph=True, options=options)
    x, y = (torch.full((8192, 6144), value, device=device, dtype=torch.bfloat16) for value in (1.0, 2.0))
    for _ in range(3):
        wrong = int((compiled(x, y) != 3).sum())
        assert wrong == 0, f"{wrong} elements of 1 + 2 are not 3"


if __name__ == "__main__":
    test_fifty_million_elements("cuda")
