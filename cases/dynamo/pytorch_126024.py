# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.12.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/126024"
# title = "A compiled function is refused in one thread while another one compiles with dynamic shapes"
# component = "dynamo"
# symptom = "internal-error"
# upstream = "open"
# upstream-seen = 2026-11-25
# reported-on = "2.4.0.dev20240417"
# devices = ["cpu"]
# backends = ["aot_eager"]
# timeout = 60
# labels = ["threads"]
# demands = ["dynamic-shapes", "custom-op"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.13"
# outcome = "raise"
# error = "RuntimeError"
# match = "a call is refused while another thread compiles: Detected that you are using FX to symboli"
# ///
"""The flag that says that torch.fx traces is global, and AOTAutograd sets it while it makes its graph. A compiled call in
another thread takes it for its own, and refuses to be traced. The check holds the compilation in the kernel of an operator
for fake tensors. Correct: the other thread computes. Source: pytorch issue 126024.
"""

import queue
import threading

import torch

held: queue.Queue[None] = queue.Queue()
released: queue.Queue[None] = queue.Queue()
hold = threading.Event()
library = torch.library.Library("pt2bugs_126024", "DEF")
library.define("copied(Tensor x) -> Tensor")


def fake_copied(x: torch.Tensor) -> torch.Tensor:
    if hold.is_set():
        held.put(None)
        released.get(timeout=20)
    return torch.empty_like(x)


library.impl("copied", torch.clone, "CPU")
library.impl("copied", fake_copied, "Meta")


def copied_next(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.pt2bugs_126024.copied(x) + 1


def test_call_during_a_compilation(backend: str) -> None:
    doubled = torch.compile(lambda x: x * 2, backend="eager", dynamic=True)
    doubled(torch.ones(1))
    compiled = torch.compile(copied_next, backend=backend, dynamic=True)
    hold.set()
    compilation = threading.Thread(target=compiled, args=(torch.ones(3),))
    compilation.start()
    try:
        while compilation.is_alive():
            try:
                held.get(timeout=0.5)
            except queue.Empty:
                continue
            try:
                value = doubled(torch.ones(1)).item()
            except RuntimeError as error:
                raise RuntimeError(f"a call is refused while another thread compiles: {error}") from error
            assert value == 2.0, f"1 doubled is {value}"
            released.put(None)
    finally:
        hold.clear()
        released.put(None)
        compilation.join(20)


if __name__ == "__main__":
    test_call_during_a_compilation("aot_eager")
