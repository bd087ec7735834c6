"""The stack that the interpreter dumps into the output of a check that crashes or runs out of time."""

from __future__ import annotations

import re
import sys

_STACK = re.compile(r"^(?:Current thread|Thread) [^\n]*\(most recent call first\):$", re.MULTILINE)
_FRAME = re.compile(r'^  File "([^"\n]+)", line (\d+) in (.+)$', re.MULTILINE)
_NOT_COUNTED = {"torch", "functorch", "sympy", "mpmath", "networkx", "numpy", "triton", "pt2bugs"}
"""Packages that are torch's, its dependencies', or ours."""


def frame_outside_torch(output: str, case: str) -> str:
    """Return the innermost frame in a package that is not torch's, as ``iree/turbine/launch.py:290 callback``.

    Args:
        output: the end of the output of a check.
        case: the id of its case; the frames of its file do not count.

    Returns:
        Empty where there is no dump, or no such frame in it.
    """
    stacks = [_FRAME.findall(stack) for stack in _STACK.split(output)[1:]]
    checks = [stack for stack in stacks if any(file == f"{case}.py" for file, _, _ in stack)]
    for file, line, function in (checks or stacks or [[]])[-1]:
        package = file.partition("/")[0].removesuffix(".py")
        if not (file.startswith("<") or package in _NOT_COUNTED or package in (case, *sys.stdlib_module_names)):
            return f"{file}:{line} {function}"
    return ""
