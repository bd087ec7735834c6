# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/160281"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "The output of one CUDA-graph function cannot be the input of another"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cuda"]
# labels = ["cudagraphs"]
# demands = []
# ///
"""Functions compiled with CUDA graphs share a memory pool. A call that starts a new generation of the tree of
graphs gives the memory of the former one back, whose outputs are dead by assumption. In g(f(x)) the output of f
is the input of the very call that frees it. From torch 2.14 on an option that is off by default,
cudagraph_trees_generation_cloning (pull request 184102), saves such outputs. Correct: x + 2. As reported:
RuntimeError, accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Source: pytorch
issue 160281 (also 152887, one function called twice).
"""

import torch


def test_output_passed_on(device: str) -> None:
    def first(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def second(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    first, second = (torch.compile(function, mode="reduce-overhead") for function in (first, second))
    x = torch.arange(3.0, device=device)
    for _ in range(3):  # warm up, capture, replay
        assert second(first(x)).tolist() == [2, 3, 4]


if __name__ == "__main__":
    test_output_passed_on("cuda")
