"""What the main block of a case file calls, read without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pt2bugs.case.model import Check


def calls_of_main(text: str, check: Check) -> Iterator[dict[str, str]]:
    """The arguments of every call of the check below ``if __name__ == "__main__"``, by parameter.

    An argument that is no constant is left out, as are calls outside that block.
    """
    for block in ast.parse(text).body:
        if isinstance(block, ast.If) and "__name__" in ast.unparse(block.test):
            for node in ast.walk(block):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == check.name:
                    given = [*zip(check.parameters, node.args, strict=False)]
                    given += [(one.arg or "", one.value) for one in node.keywords]
                    yield {name: str(value.value) for name, value in given if isinstance(value, ast.Constant)}
