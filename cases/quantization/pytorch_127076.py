# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.10.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/127076"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "prepare_pt2e makes the integer of a program a float"
# component = "quantization"
# symptom = "wrong-result"
# devices = ["cpu"]
# compiles = false
# labels = ["quantization"]
# demands = []
# requires-torch = ">=2.3,<2.11"
#
# [[tool.pt2bugs.bug]]
# outcome = "wrong"
# error = "AssertionError"
# match = 'int32 plus 2 is torch\.float32'
# ///
"""prepare_pt2e turns the literal of an addition into a tensor attribute of the graph, and converts it to float first.
An integer tensor plus that attribute is promoted, and what was an index is none any more. Correct: the prepared program
gives the dtype of the exported one.
Source: pytorch issue 127076.
"""

import torch
from torch.ao.quantization.quantize_pt2e import prepare_pt2e
from torch.ao.quantization.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config


class AddTwo(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 2


def test_dtype_of_integers() -> None:
    x = torch.tensor([1, 2], dtype=torch.int32)
    exported = torch.export.export(AddTwo(), (x,)).module()
    prepared = prepare_pt2e(exported, XNNPACKQuantizer().set_global(get_symmetric_quantization_config()))
    dtype = prepared(x).dtype
    assert dtype == torch.int32, f"int32 plus 2 is {dtype}"


if __name__ == "__main__":
    test_dtype_of_integers()
