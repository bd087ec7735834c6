# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/135439"
# fix = "https://github.com/pytorch/pytorch/pull/136450"
# upstream = "closed"
# upstream-seen = 2026-11-26
# reported-on = "2.5.0.dev20240725"
# title = "Tensor.is_inference() cannot be traced"
# component = "dynamo"
# symptom = "graph-break"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'torch\.\* op returned non-Tensor bool call_method is_inference'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'Encountered tensor\.is_inference\(\) during tracing'
# ///
"""Dynamo takes is_inference for an operator of the graph, whose result must be a tensor. Torch 2.6 answers it while tracing. Since fake
tensors no longer follow inference mode (PR 149072), they cannot tell, and Dynamo says so. Correct: eager's branch, for
ordinary tensors and those of inference mode. Source: pytorch issue 135439, PR 136450.
"""

import torch


def branch(x: torch.Tensor) -> torch.Tensor:
    if x.is_inference():
        return x + 1
    return x - 1


def test_both_kinds_of_tensors(device: str, backend: str) -> None:
    compiled = torch.compile(branch, backend=backend, fullgraph=True)
    for mode in (False, True):
        with torch.inference_mode(mode):
            x = torch.ones(2, device=device)
        torch.testing.assert_close(compiled(x), branch(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_both_kinds_of_tensors("cpu", "eager")
