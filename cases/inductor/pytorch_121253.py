# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/121253"
# fix = "https://github.com/pytorch/pytorch/pull/121953"
# title = "Freezing replaces addmm by a linear that ignores beta"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# requires-torch = ">=2.1"
# labels = ["freezing"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.2,<2.4"
# outcome = "wrong"
# error = "AssertionError"
# match = "with beta=0.5 the bias counts \\[1.0, 1.0\\]"
# platform = "x86_64"
# ///
"""With freezing, Inductor packs constant weights and turns addmm into oneDNN's or MKL's linear, which has a bias
but neither alpha nor beta. The pattern matched addmm with any beta, so the bias is added in full. It takes a
build with MKL. Correct: the bias counts with beta, as in eager.
Source: pytorch issue 121253.
"""

import torch
import torch._inductor.config


class Affine(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(64))
        self.bias = torch.nn.Parameter(torch.ones(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self.bias, x, self.weight, beta=0.5)


def test_frozen_addmm_with_beta(device: str, backend: str) -> None:
    model = Affine().eval().to(device)
    with torch.no_grad(), torch._inductor.config.patch(freezing=True):
        bias = torch.compile(model, backend=backend)(torch.zeros(1, 64, device=device))[0, :2].tolist()
    assert bias == [0.5, 0.5], f"with beta=0.5 the bias counts {bias}"


if __name__ == "__main__":
    test_frozen_addmm_with_beta("cpu", "inductor")
