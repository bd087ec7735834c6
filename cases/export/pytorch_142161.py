# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.6.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/142161"
# fix = "https://github.com/pytorch/pytorch/pull/147533"
# title = "The module of an exported program needs a second pytree registration for a user class"
# component = "export"
# symptom = "internal-error"
# devices = ["cpu"]
# backends = ["eager"]
# demands = ["dynamic-shapes"]
# requires-torch = ">=2.4"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = "<2.7"
# outcome = "raise"
# error = "RuntimeError"
# match = "does not have a flatten_fn_spec associated with it"
# ///
"""A class registered with torch.utils._pytree can be an input of an exported program. Its module() matches
the inputs with the specs of another registry, that of torch.fx, which takes flatten functions of its own, so the
program could be exported and not called. Correct: one registration is enough; the call equals eager.
Source: pytorch issue 142161.
"""

import torch
from torch.utils import _pytree as pytree


class Cache:
    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        self.keys, self.values = keys, values


class Attend(torch.nn.Module):
    def forward(self, x: torch.Tensor, cache: Cache) -> torch.Tensor:
        return x + cache.keys.sum(1, keepdim=True) * cache.values.sum(1, keepdim=True)


def test_registered_class_as_input() -> None:
    pytree.register_pytree_node(
        Cache,
        lambda cache: ([cache.keys, cache.values], None),
        lambda children, _: Cache(*children),
        serialized_type_name="pytorch_142161.Cache",
        flatten_with_keys_fn=lambda cache: (
            [(pytree.GetAttrKey(name), getattr(cache, name)) for name in ("keys", "values")],
            None,
        ),
    )
    rows = torch.export.Dim("rows", min=2, max=50)
    sample = (torch.ones(3, 1), Cache(torch.ones(3, 4), torch.ones(3, 4)))
    shapes = ({0: rows}, [{0: rows}, {0: rows}])
    program = torch.export.export(Attend(), sample, dynamic_shapes=shapes, strict=False)
    other = (torch.ones(5, 1), Cache(torch.ones(5, 4), torch.ones(5, 4)))
    torch.testing.assert_close(program.module()(*other), Attend()(*other), rtol=0, atol=0)


if __name__ == "__main__":
    test_registered_class_as_input()
