# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/155057"
# fix = "https://github.com/pytorch/pytorch/pull/156527"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "A function that is compiled again after torch._dynamo.reset() crashes"
# component = "dynamo"
# symptom = "crash"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.5,<2.9"
# outcome = "crash"
# signal = "SIGSEGV"
# output = 'convert_frame\.py", line \d+ in __call__\n  File "torch/_dynamo/eval_frame\.py"'
# ///
"""reset() frees the cache entries of a code object that was compiled, called and reset before, and the next call of the
new wrapper reads them. Correct: it compiles once more.
Source: pytorch issue 155057.
"""

import torch


def test_compiled_again_after_reset(device: str, backend: str) -> None:
    def sine() -> torch.Tensor:
        return torch.ones(4, device=device).sin()

    for _ in range(2):
        compiled = torch.compile(sine, backend=backend)
        torch.testing.assert_close(compiled(), sine())
        torch._dynamo.reset()
        torch.testing.assert_close(compiled(), sine())


if __name__ == "__main__":
    test_compiled_again_after_reset("cpu", "eager")
