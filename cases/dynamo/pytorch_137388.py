# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/137388"
# fix = "https://github.com/pytorch/pytorch/pull/186222"
# title = "The guards on symbolic sizes are missing from a cache entry's code_parts"
# component = "dynamo"
# symptom = "recompilation"
# devices = ["cpu", "cuda"]
# backends = ["eager"]
# requires-torch = ">=2.2"
# labels = ["mark-dynamic"]
# demands = ["dynamic-shapes"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,!=2.9.0,<2.15"
# outcome = "wrong"
# error = "AssertionError"
# # Torch 2.4 lists nothing; later releases list the check of the tensor, in which the dynamic size is left open.
# match = 'no guard on the size among the code_parts \[(\]|.*size=\[None\], stride=\[1\])'
# ///
"""Tools that explain recompilations read what a compiled frame is guarded on from code_parts of its guard manager. The
guards on symbolic sizes run last, in a separate list of the root manager, which the walk that collects this text
does not visit. Correct: the guard of the branch on the size is among them.
Source: pytorch issue 137388.
"""

import re

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list, innermost_fn


def branch(x: torch.Tensor) -> torch.Tensor:
    return x + 5 if x.numel() >= 4321 else x * 2


def test_size_guard_is_listed(device: str, backend: str) -> None:
    x = torch.ones(3, device=device)
    torch._dynamo.mark_dynamic(x, 0)
    compiled = torch.compile(branch, backend=backend)
    torch.testing.assert_close(compiled(x), x * 2, rtol=0, atol=0)
    for entry in _debug_get_cache_entry_list(innermost_fn(compiled)):
        guards = entry.guard_manager if hasattr(entry, "guard_manager") else entry.check_fn
        # As a number of its own: the parts also hold addresses, of many digits.
        listed = any(re.search(r"\b432[01]\b", part) for part in guards.code_parts)
        assert listed, f"no guard on the size among the code_parts {guards.code_parts}"


if __name__ == "__main__":
    test_size_guard_is_listed("cpu", "eager")
