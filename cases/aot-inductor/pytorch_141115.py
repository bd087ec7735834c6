# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/141115"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "An AOTInductor package takes an input of another size and computes a part of it"
# component = "aot-inductor"
# symptom = "missing-error"
# devices = ["cpu"]
# requires-torch = ">=2.6"
# timeout = 240
# compiles = false
# labels = ["aot-inductor"]
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = "a package for sizes \\(2, 4\\) took an input of \\(3, 4\\) and returned \\[2, 4\\]"
# ///
"""The model is exported with static sizes; the exported program refuses an input of other sizes. AOTInductor
writes the sizes into the code, but a check of its inputs only behind AOTI_RUNTIME_CHECK_INPUTS, which is off.
What happens depends on the generated code: here the kernel reads as many elements as it was compiled for.
Correct: an error, as from the exported program.
Source: pytorch issue 141115.
"""

import tempfile

import torch
import torch._inductor


class Increment(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_input_of_another_size(device: str) -> None:
    exported = torch.export.export(Increment(), (torch.zeros(2, 4, device=device),))
    other = torch.zeros(3, 4, device=device)
    with tempfile.TemporaryDirectory() as folder:
        package = torch._inductor.aoti_compile_and_package(exported, package_path=f"{folder}/model.pt2")
        model = torch._inductor.aoti_load_package(package)
        torch.testing.assert_close(model(torch.zeros(2, 4, device=device)), torch.ones(2, 4, device=device))
        try:
            found = list(model(other).shape)
        except Exception:
            return
    raise AssertionError(f"a package for sizes (2, 4) took an input of (3, 4) and returned {found}")


if __name__ == "__main__":
    test_input_of_another_size("cpu")
