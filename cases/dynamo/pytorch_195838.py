# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/195838"
# upstream = "closed"
# upstream-seen = 2026-11-24
# title = "dataclasses.replace on an instance made while tracing is not traced"
# component = "dynamo"
# symptom = "graph-break"
# found-beside = "https://github.com/pytorch/pytorch/issues/195838"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'skip function replace in file dataclasses\.py|replace in skip_files dataclasses\.py|hasattr UserDefinedClassVariable __dataclass_fields__'
# ///
"""dataclasses.replace reads the fields of the instance and calls its class again. Dynamo skipped the standard
library's function, later could not answer whether the class has __dataclass_fields__. Correct: replace is traced.
Source: pytorch issue 195838.
"""

import dataclasses

import torch


@dataclasses.dataclass
class Scaled:
    x: torch.Tensor
    factor: int


def replaced(x: torch.Tensor) -> torch.Tensor:
    pair = dataclasses.replace(Scaled(x, 3), x=x + 5)
    return pair.x * pair.factor


def test_replace(device: str, backend: str) -> None:
    x = torch.zeros(1, device=device)
    assert torch.compile(replaced, backend=backend, fullgraph=True)(x).item() == 15.0


if __name__ == "__main__":
    test_replace("cpu", "eager")
