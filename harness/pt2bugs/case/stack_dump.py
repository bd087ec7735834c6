"""Where outside torch a check ended, by the stack that the interpreter dumps into the output of a crash or a hang."""

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
        if file != f"{case}.py" and is_outside_torch(file):
            return f"{file}:{line} {function}"
    return ""


def is_outside_torch(file: str) -> bool:
    """Return whether a file is of a package that is not torch's, its dependencies', Python's or ours.

    Args:
        file: from the name of its package on.
    """
    package = file.partition("/")[0].removesuffix(".py")
    return not (file.startswith("<") or package in _NOT_COUNTED or package in sys.stdlib_module_names)
