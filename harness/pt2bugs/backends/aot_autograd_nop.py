"""Registers the backend ``aot_autograd_nop``: AOTAutograd as most vendors call it, with a compiler that does nothing.

torch's own ``aot_eager`` adds a partitioner, and keeps the mutations of inputs in the graph. Imported in the process of
a cell, where torch is imported already; without torch it does nothing.
"""

from __future__ import annotations

import sys
from typing import Any


def _register() -> None:
    from torch._dynamo import register_backend
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def call_forward(graph: Any, _inputs: Any) -> Any:
        return make_boxed_func(graph.forward)

    register_backend(name="aot_autograd_nop", compiler_fn=aot_autograd(fw_compiler=call_forward))


if "torch" in sys.modules:
    _register()
