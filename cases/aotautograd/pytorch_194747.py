# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/194747"
# upstream = "open"
# upstream-seen = 2026-11-24
# title = "Mutated inputs that share storage under different dtypes are refused"
# component = "aotautograd"
# symptom = "backend-failure"
# kind = "missing-feature"
# devices = ["cpu", "cuda"]
# backends = ["aot_eager"]
# demands = ["mutation", "aliasing"]
#
# [[tool.pt2bugs.bug]]
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "does not yet handle input mutations on views with different dtypes"
# ///
"""When inputs alias and one of them is mutated, AOTAutograd passes their base once and regenerates each input as
a view of it. That is done with as_strided, which cannot change the dtype, so it asserts that all of them have
the same one. Correct: both inputs and the result are those of eager.
Source: pytorch issue 194747.
"""

import torch


def update(state: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    state.add_(1)
    cache.add_(1)
    return state.sum() + cache.sum()


def make_views(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    base = torch.arange(16, dtype=torch.float32, device=device)
    return base[:10], base.view(torch.int32)[8:]


def test_views_of_one_base_with_two_dtypes(device: str, backend: str) -> None:
    reference, inputs = make_views(device), make_views(device)
    expected = update(*reference)
    actual = torch.compile(update, backend=backend)(*inputs)
    torch.testing.assert_close((actual, *inputs), (expected, *reference), rtol=0, atol=0)


if __name__ == "__main__":
    test_views_of_one_base_with_two_dtypes("cpu", "aot_eager")
