# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.2.2", "numpy<2", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/118922"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Non-strict export of a module with an unregistered tensor attribute"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.3"
# outcome = "raise"
# error = "Exception"
# match = 'Please convert all Tensors to FakeTensors first.* Found in aten\.add\.Tensor\(FakeTensor'
# ///
"""Non-strict export makes fake tensors of parameters, buffers and inputs. A tensor that is a plain attribute of the
module was left real, and the first op that takes it together with a fake one is refused.
Correct: it becomes a constant of the program. Source: pytorch issue 118922.
"""

import torch


class AddOffset(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.offset = torch.arange(4.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.offset


def test_tensor_attribute() -> None:
    x = torch.ones(4)
    program = torch.export.export(AddOffset(), (x,), strict=False)
    torch.testing.assert_close(program.module()(x), AddOffset()(x), rtol=0, atol=0)


if __name__ == "__main__":
    test_tensor_attribute()
