# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/150364"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An AOTInductor package forgets the range that a pass of Inductor has guarded on"
# component = "aot-inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# requires-torch = ">=2.6"
# timeout = 240
# compiles = false
# labels = ["aot-inductor"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "sine of zeros of size 3: \\[1.0, 1.0, 1.0\\]"
# ///
"""The batch is dynamic in the exported program. A pass over the graph asks whether it is more than 5, which is a
guard: what the pass does with the answer holds for such batches alone. torch.compile would check the guard
before each call. AOTInductor drops it, neither refuses to compile nor checks it in the package, and runs the
rewritten graph for a batch of 3. Correct: eager's result or an error.
Source: pytorch issue 150364.
"""

import tempfile

import torch
import torch._inductor
import torch._inductor.config


class Sine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin()


def cosine_for_large_batches(graph: torch.fx.Graph) -> None:
    for node in graph.nodes:
        if node.target is torch.ops.aten.sin.default and node.meta["val"].shape[0] > 5:
            node.target = torch.ops.aten.cos.default


def test_batch_outside_of_a_guard(device: str) -> None:
    batch = torch.export.Dim("batch", min=2)
    exported = torch.export.export(Sine(), (torch.zeros(6, device=device),), dynamic_shapes=({0: batch},))
    options = {"post_grad_custom_post_pass": cosine_for_large_batches}
    with tempfile.TemporaryDirectory() as folder, torch._inductor.config.patch(options):
        try:
            package = torch._inductor.aoti_compile_and_package(exported, package_path=f"{folder}/model.pt2")
            found = torch._inductor.aoti_load_package(package)(torch.zeros(3, device=device)).tolist()
        except RuntimeError:
            return
    assert found == [0.0, 0.0, 0.0], f"sine of zeros of size 3: {found}"


if __name__ == "__main__":
    test_batch_outside_of_a_guard("cpu")
