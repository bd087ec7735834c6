# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.8.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/151809"
# fix = "https://github.com/pytorch/pytorch/pull/158681"
# title = "Saving and loading an exported program raises the lower bound of a data-dependent size to 2"
# component = "export"
# symptom = "wrong-result"
# devices = ["cpu"]
# backends = ["eager"]
# demands = []
# requires-torch = ">=2.2"
# compiles = false
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.4,<2.9"
# outcome = "wrong"
# error = "AssertionError"
# match = "lower bound 0 became 2"
# ///
"""Deserialization clamps the lower bound of every symbol to 2. That was meant for backed symbols, whose hints
are never 0 or 1; a data-dependent (unbacked) size may well be 0 or 1, and the loaded program promises
otherwise. Correct: the range of the size is the same after save and load. Source: issue 151809.
"""

import io

import torch


class ZerosOf(torch.nn.Module):
    def forward(self, count: torch.Tensor) -> torch.Tensor:
        return torch.zeros(count.item())


def size_range(program: torch.export.ExportedProgram):
    """What the symbolic shapes of the program know about the length of its output."""
    output = next(iter(n for n in program.graph.nodes if n.op == "output")).args[0][0]
    (length,) = output.meta["val"].shape
    return length.node.shape_env.var_to_range[length.node.expr]


def test_lower_bound_survives_save_and_load() -> None:
    program = torch.export.export(ZerosOf(), (torch.tensor(5),))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file)
    expected, actual = size_range(program), size_range(loaded)
    assert actual.lower == expected.lower, f"lower bound {expected.lower} became {actual.lower}"


if __name__ == "__main__":
    test_lower_bound_survives_save_and_load()
