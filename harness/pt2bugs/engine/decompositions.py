"""Takes decompositions away: those of Inductor, and those that every trace of AOTAutograd applies."""

from __future__ import annotations

import importlib

from pt2bugs.engine.other_entries import import_or_none

_NATIVE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CPU")
"""Where an operator's kernels in C++ stand."""


def remove(names: set[str]) -> list[str]:
    """Have Inductor use the kernels of operators (``aten.mm``, ``aten.mm.default``) instead of their decompositions.

    Returns:
        What of it this torch does not have, in words.
    """
    table = getattr(import_or_none("torch._inductor.decomposition"), "decompositions", None)
    if table is None:
        return ["torch._inductor.decomposition.decompositions"]
    found = [one for one in table if str(one) in names or str(one).rpartition(".")[0] in names]
    for operator in found:
        table.pop(operator)
    return [] if found else [f"decomposition of {', '.join(sorted(names))} in Inductor"]


def remove_python() -> list[str]:
    """Take the Python decompositions away that AOTAutograd's own trace applies in the place of the kernels of C++.

    They are kernels in Python of operators that have one in C++.

    Returns:
        What of it this torch does not have, in words.
    """
    import torch

    importlib.import_module("torch._decomp.decompositions")  # registers them
    keys, has_kernel = torch._C.DispatchKey, torch._C._dispatch_has_kernel_for_dispatch_key
    found = False
    for packet in list(vars(torch.ops.aten).values()):
        for operator in list(vars(packet).values()) if hasattr(packet, "overloads") else ():
            kernels = getattr(operator, "py_kernels", None)
            if not kernels or not any(has_kernel(operator.name(), key) for key in _NATIVE):
                continue
            for key in (keys.Autograd, keys.CompositeImplicitAutograd):
                found = kernels.pop(key, None) is not None or found
            getattr(operator, "_dispatch_cache", {}).clear()
    return [] if found else ["Python decomposition of an operator"]
