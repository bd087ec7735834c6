# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/152022"
# fix = "https://github.com/pytorch/pytorch/pull/185635"
# title = "What standalone_compile made of a graph with trainable parameters cannot be saved"
# component = "aotautograd"
# symptom = "internal-error"
# devices = ["cpu"]
# requires-torch = ">=2.8"
# timeout = 180
# labels = ["cache"]
# demands = ["training"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.11"
# outcome = "raise"
# error = "AssertionError"
# match = "CacheInfo.*'aot_autograd': \\[\\]"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.11,<2.13"
# outcome = "raise"
# error = "RuntimeError"
# match = "CompiledArtifact.save failed to save due to no aot_autograd artifacts"
# ///
"""standalone_compile compiles a graph and keeps what the caches saved of it, for CompiledArtifact.save. With
parameters that require gradients AOTAutograd compiles the backward lazily, at the first backward, and its cache
writes an entry only then; of the artifact nothing is there to be saved, and an assertion without words fails.
Correct: the artifact can be saved and, loaded, gives eager's result.
Source: pytorch issue 152022.
"""

import tempfile

import torch
import torch._inductor
from torch._inductor.utils import fresh_inductor_cache


def test_save_of_a_training_graph(device: str) -> None:
    captured = []

    def capture(graph: torch.fx.GraphModule, inputs: list) -> torch.fx.GraphModule:
        captured.append((graph, inputs))
        return graph

    linear, x = torch.nn.Linear(2, 2).to(device), torch.ones(1, 2, device=device)
    torch.compile(linear, fullgraph=True, backend=capture)(x)
    with fresh_inductor_cache(), tempfile.TemporaryDirectory() as folder:
        artifact = torch._inductor.standalone_compile(*captured[0])
        artifact.save(path=f"{folder}/artifact", format="binary")


if __name__ == "__main__":
    test_save_of_a_training_graph("cpu")
