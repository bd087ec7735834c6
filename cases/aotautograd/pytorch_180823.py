# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/180823"
# title = "inference_mode around view ops inside a compiled function fails in functionalization"
# component = "aotautograd"
# symptom = "backend-failure"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# labels = ["context-manager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "(Cannot set version_counter for|to 'torch.storage.UntypedStorage')[\\s\\S]*While executing %view"
# ///
"""Entering inference_mode inside the traced function makes the tensors of the trace inference tensors, which
have no version counter. For a view functionalization shares the version counter of the base and fails to set
it (in 2.6 to 2.12 the message is a weak reference to the storage). Correct: the views compile, and the result
equals eager's.
Source: pytorch issue 180823, PR 181106 (open).
"""

import torch


def scale_column(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x + 1
    with torch.inference_mode():
        return y, x.view(-1).unsqueeze(0).transpose(0, 1) * 2


def test_views_under_inference_mode(device: str, backend: str) -> None:
    x = torch.arange(4.0, device=device).reshape(2, 2)
    actual = torch.compile(scale_column, backend=backend)(x)
    torch.testing.assert_close(actual, scale_column(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_views_under_inference_mode("cpu", "aot_eager")
