# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/163640"
# fix = "https://github.com/pytorch/pytorch/pull/163773"
# title = "Padding mask makes nn.TransformerEncoder untraceable with fullgraph=True"
# component = "dynamo"
# symptom = "graph-break"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = "_nested_tensor_from_mask_left_aligned"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.1,<2.5"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = "meta converter nyi|free variable 'sizes'|strided nested tensors|NestedTensorImpl"
#
# [[tool.pt2bugs.bug]]
# torch = "<2.1"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.TorchRuntimeError"
# match = '^\s*from user code:'
# frame = 'torch/_dynamo/utils\.py:\d+ get_fake_value'
# ///
"""In eval mode nn.TransformerEncoder asks torch._nested_tensor_from_mask_left_aligned whether the padding
mask allows the nested-tensor fast path. The answer is a Python bool that depends on the mask's data,
which Dynamo cannot put into a graph: a graph break, and an error with fullgraph=True. The fast path is an
optimisation only, so a compiler may skip it. Correct: the model compiles into one graph and equals eager.
Up to torch 2.4 Dynamo ran the whole encoder on fake tensors, and stopped before at a strided nested tensor.
Source: pytorch issue 163640, PR 163773.
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(512, 8, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(512, 10)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(x, src_key_padding_mask=mask))


def test_padding_mask(device: str, backend: str) -> None:
    torch.manual_seed(0)
    model = Model().eval().to(device)
    x = torch.randn(1, 41, 512, device=device)
    mask = torch.zeros(1, 41, dtype=torch.bool, device=device)
    mask[0, 0] = True
    with torch.inference_mode():
        expected = model(x, mask)
        actual = torch.compile(model, backend=backend, fullgraph=True)(x, mask)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_padding_mask("cpu", "eager")
