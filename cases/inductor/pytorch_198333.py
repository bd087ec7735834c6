# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/198333"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "Dropout masks repeat in groups of four channels, and differ in the backward pass"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cuda"]
# demands = ["training", "randomness"]
# ///
"""In torch 2.13 and 2.14 a one-dimensional Triton kernel takes four numbers from one Philox call (rand4x, off by
default later), on the assumption that the offsets of a block are consecutive. In front of a transpose they go
in steps of the channel count, and four neighbouring channels get the same mask. The backward pass recomputes
the mask in a two-dimensional kernel, one number per call, and gets another one. Correct: neighbours agree in
half of the elements, and the gradient is nonzero where the output is. As reported all agreed, and mask and
gradient no more often than by chance. Source: pytorch issue 198333.
"""

import torch


def transposed_dropout(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.dropout(x, 0.5).transpose(1, 2).contiguous()


def run(device: str, backend: str) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.ones(2, 4096, 64, device=device, requires_grad=True)
    y = torch.compile(transposed_dropout, backend=backend)(x)
    y.backward(torch.ones_like(y))
    return y.detach(), x.grad.transpose(1, 2)


def test_masks_of_neighbouring_channels(device: str, backend: str) -> None:
    y, _ = run(device, backend)
    agreement = (y[:, 0::4] == y[:, 1::4]).float().mean().item()
    assert agreement < 0.6, f"the masks of neighbours agree in {agreement:.0%} of the elements"


def test_mask_of_the_gradient(device: str, backend: str) -> None:
    y, gradient = run(device, backend)
    agreement = (y == gradient).float().mean().item()
    assert agreement == 1, f"mask and gradient agree in {agreement:.0%} of the elements"


if __name__ == "__main__":
    test_masks_of_neighbouring_channels("cuda", "inductor")
    test_mask_of_the_gradient("cuda", "inductor")
