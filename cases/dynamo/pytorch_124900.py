# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/124900"
# fix = "https://github.com/pytorch/pytorch/pull/125203"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "A grad-mode context made before a graph break cannot be entered after it"
# component = "dynamo"
# symptom = "internal-error"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# labels = ["context-manager"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.4"
# outcome = "raise"
# error = "TypeError"
# match = "'type' object does not support the context manager protocol"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = "^$"
# frame = 'convert_frame\.py:\d+ _compile\ntorch/_dynamo/bytecode_analysis\.py:\d+ find_live_code'
# ///
"""A local that is alive over a graph break must be rebuilt for the code that follows. For a grad-mode
context object Dynamo handed over the class, not the instance, and the `with` in the resumed
frame finds no context manager. Correct: the block runs without grad, as in eager. Source: pytorch issue 124900.
"""

import torch


def triple_without_grad(x: torch.Tensor) -> torch.Tensor:
    context = torch.set_grad_enabled(False)
    torch._dynamo.graph_break()
    with context:
        return x * 3


def test_context_survives_the_break(device: str, backend: str) -> None:
    x = torch.ones(2, device=device, requires_grad=True)
    actual = torch.compile(triple_without_grad, backend=backend)(x)
    assert actual.tolist() == [3.0, 3.0], f"result {actual.tolist()}"
    assert not actual.requires_grad, "the block ran with grad mode on"


if __name__ == "__main__":
    test_context_survives_the_break("cpu", "eager")
