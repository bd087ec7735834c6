# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/pull/189503"
# fix = "https://github.com/pytorch/pytorch/pull/189503"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "An input that an AOTInductor package refuses is never freed"
# component = "aot-inductor"
# symptom = "memory"
# devices = ["cpu", "cuda"]
# requires-torch = ">=2.6"
# timeout = 240
# compiles = false
# labels = ["aot-inductor"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "wrong"
# error = "AssertionError"
# match = "inputs of another size are not refused"
# blocked = true
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = "inputs that nobody holds are in memory: \\['refused', 'refused'\\]"
# ///
"""The runner makes a handle of every input, each with a reference to the tensor, and the library takes them over. With
AOTI_RUNTIME_CHECK_INPUTS the library looks at the sizes first; where it refuses one, nobody has taken the handles over and
nobody frees them, so a server that goes on after the error leaks every input it refused. Correct: the memory is free once
the caller lets go of the tensor, as after a call that was accepted.
Source: pytorch pull request 189503.
"""

import os

import torch
import torch._inductor
from torch.multiprocessing.reductions import StorageWeakRef


class Double(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def test_refused_input_is_freed(device: str) -> None:
    os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"
    exported = torch.export.export(Double(), (torch.zeros(3, device=device),))
    model = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(exported))

    def call(size: int) -> tuple:
        x = torch.ones(size, device=device)
        try:
            model(x)
        except RuntimeError:
            return StorageWeakRef(x.untyped_storage()), "refused"
        return StorageWeakRef(x.untyped_storage()), "taken"

    calls = [call(3), call(4), call(4)]
    assert [said for _, said in calls] == ["taken", "refused", "refused"], "inputs of another size are not refused"
    alive = [said for memory, said in calls if not memory.expired()]
    assert not alive, f"inputs that nobody holds are in memory: {alive}"


if __name__ == "__main__":
    test_refused_input_is_freed("cpu")
