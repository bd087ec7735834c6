# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.15.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/186537"
# title = "Dynamo's limit of recompilations is the default one in every other thread"
# component = "dynamo"
# symptom = "recompilation"
# upstream = "open"
# upstream-seen = 2026-11-25
# devices = ["cpu"]
# backends = ["eager"]
# labels = ["threads"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.12"
# outcome = "wrong"
# error = "AssertionError"
# match = 'sizes \[2, 3, 4, 5\] were compiled with a limit of two'
# ///
"""Since the configuration is thread-local, a setting of the main thread is not seen by others, and the thread that runs a
backward has no place to set it. The check needs three recompilations, and the limit of the main thread is two. Correct: the
third size runs without the compiler. Source: pytorch issue 186537.
"""

import threading

import torch
import torch._dynamo.config


def test_limit_in_another_thread(backend: str) -> None:
    torch._dynamo.config.cache_size_limit = 2
    sizes = []

    def compiler(graph_module: torch.fx.GraphModule, inputs: list[torch.Tensor]):
        sizes.append(len(inputs[0]))
        return graph_module.forward

    compiled = torch.compile(lambda x: x + 1, backend=compiler, dynamic=False)
    thread = threading.Thread(target=lambda: [compiled(torch.ones(size)) for size in (2, 3, 4, 5)])
    thread.start()
    thread.join()
    assert sizes == [2, 3], f"sizes {sizes} were compiled with a limit of two"


if __name__ == "__main__":
    test_limit_in_another_thread("eager")
