# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/176591"
# fix = "https://github.com/pytorch/pytorch/pull/176849"
# title = "Foreach updates beside sums of single tensors: an assertion in the scheduler"
# component = "inductor"
# symptom = "internal-error"
# devices = ["cuda"]
# labels = ["optimizer"]
# demands = ["mutation"]
# ///
"""torch._foreach operations are scheduled as one node that holds a node per tensor. When a sum of one of those
tensors could be fused if loops were in another order, the scheduler reorders the loops of the nodes inside, and
asserts that each is a plain one; after an earlier fusion some are foreach nodes themselves. It takes tensors of
different shapes. Correct: it compiles and equals eager. As reported: AssertionError in
ForeachKernelSchedulerNode.reorder_loops_by_dep_pair. Source: pytorch issue 176591, PR 176849.
"""

import torch


def update(params: list, averages: list, squares: list, grads: list) -> None:
    grads = [grad.float() for grad in grads]
    for state, values in ((averages, grads), (squares, torch._foreach_mul(grads, grads))):
        wide = [tensor.float() for tensor in state]
        torch._foreach_lerp_(wide, values, 0.1)
        for tensor, one in zip(state, wide):
            tensor.copy_(one)
    steps = torch._foreach_div([t.float() for t in averages], torch._foreach_add([t.float() for t in squares], 1.0))
    sizes = [step.sum() for step in steps]
    for param, step, size in zip(params, steps, sizes):
        param.sub_(step / (1 + size * size))


def test_step_over_several_shapes(device: str, backend: str) -> None:
    def run(function) -> list:
        torch.manual_seed(0)
        shapes = ((64, 32), (32, 128), (96,))
        lists = [[torch.rand(shape).to(device) for shape in shapes] for _ in range(4)]
        function(*lists)
        return lists

    torch.testing.assert_close(run(torch.compile(update, backend=backend)), run(update))


if __name__ == "__main__":
    test_step_over_several_shapes("cuda", "inductor")
