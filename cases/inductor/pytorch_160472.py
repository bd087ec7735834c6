# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/160472"
# upstream = "open"
# upstream-seen = 2026-11-25
# title = "The FX graph cache does not tell two fake versions of a custom operator"
# component = "inductor"
# symptom = "wrong-result"
# devices = ["cpu"]
# requires-torch = ">=2.4"
# labels = ["cache", "custom-op"]
# demands = ["custom-op"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.14"
# outcome = "wrong"
# error = "AssertionError"
# match = 'Mismatched elements: 16 / 16 \([\d.]+%\)\nGreatest absolute difference: 29\.0585\d* '
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.14"
# outcome = "raise"
# error = "RuntimeError"
# match = 'expected dtype torch\.float16 but got torch\.float32'
# ///
"""The key of Inductor's FX graph cache names a custom operator, and says nothing of the dtype that its fake version
promises, for which the code was generated. After the fake version is corrected the next compilation gets the code of
before. Correct: the dtype and values of eager.
Source: pytorch issue 160472.
"""

import torch
import torch._inductor.config

promised = torch.float16


@torch.library.custom_op("pt2bugs::widened_160472", mutates_args=())
def widened(x: torch.Tensor) -> torch.Tensor:
    return x.float() + 1


@widened.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x, dtype=promised)


def total(x: torch.Tensor) -> torch.Tensor:
    return widened(x) + x


def test_corrected_fake(device: str, backend: str) -> None:
    global promised
    x = torch.ones(16, dtype=torch.float16, device=device)
    with torch._inductor.config.patch(fx_graph_cache=True):
        try:
            torch.compile(total, backend=backend)(x)
        except Exception as error:
            assert "expected" in str(error), f"the wrong promise is refused for another reason: {error}"
        promised = torch.float32
        torch._dynamo.reset()
        try:
            actual = torch.compile(total, backend=backend)(x)
        except AssertionError as error:
            raise AssertionError(f"the right promise is refused: {error}") from None
    assert actual.dtype == torch.float32, f"a sum of float32 and float16 is {actual.dtype}"
    torch.testing.assert_close(actual, total(x))


if __name__ == "__main__":
    test_corrected_fake("cpu", "inductor")
