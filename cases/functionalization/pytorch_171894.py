# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/171894"
# fix = "https://github.com/pytorch/pytorch/pull/184970"
# title = "A pinned constant is copied to pageable memory, which a CUDA graph outlives"
# component = "functionalization"
# symptom = "wrong-result"
# devices = ["cuda"]
# backends = ["aot_eager"]
# labels = ["cudagraphs", "pinned-memory"]
# demands = []
# ///
"""A tensor made from Python values becomes a constant of the graph and is copied by lift_fresh_copy. That
generated kernel clones, and a clone is not pinned. The copy to CUDA that follows is recorded in a CUDA graph
with the address of a temporary that is gone when the graph is replayed. Newer releases refuse a copy from
pageable memory during capture, which stops the same program. Correct: 3, as for the function in eager. As
reported the replayed graph gave garbage. Source: pytorch issue 171894, PR 184970.
"""

import torch


def count(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(x.numel(), pin_memory=True).to(x.device, non_blocking=True)


def test_constant_in_a_cuda_graph(device: str, backend: str) -> None:
    x = torch.zeros(3, device=device)
    compiled = torch.compile(count, backend=backend)
    assert compiled(x).item() == 3
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = compiled(x)
    others = [torch.full((), -1) for _ in range(1000)]  # take the host memory that the capture gave back
    graph.replay()
    torch.cuda.synchronize()
    assert result.item() == 3, f"the replayed graph gives {result.item()} beside {len(others)} new tensors"


if __name__ == "__main__":
    test_constant_in_a_cuda_graph("cuda", "aot_eager")
