# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.3.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/100817"
# title = "A dynamically quantized Linear does not compile"
# component = "quantization"
# symptom = "backend-failure"
# upstream = "closed"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# labels = ["quantization"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = "<2.4"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = '__torch__\.torch\.classes\.quantized\.LinearPackedParamsBase \(of Python compilation unit at: \d+'
# ///
"""Its packed weights are a TorchScript object, which the backend takes for a tensor and asks for is_complex. Correct: the
object is passed on, or the graph breaks.
Source: pytorch issue 100817.
"""

import torch


def test_packed_weights(device: str, backend: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 4)).eval()
    quantized = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    x = torch.linspace(-1, 1, 16).reshape(2, 8)
    with torch.no_grad():
        actual = torch.compile(lambda x: quantized(x + 1), backend=backend)(x)
        torch.testing.assert_close(actual, quantized(x + 1))


if __name__ == "__main__":
    test_packed_weights("cpu", "inductor")
