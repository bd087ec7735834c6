# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.9.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/164247"
# title = "create_block_mask and flex_attention in one compiled function break the graph"
# component = "higher-order-ops"
# symptom = "graph-break"
# devices = ["cpu"]
# backends = ["eager"]
# requires-torch = ">=2.5"
# labels = ["flex-attention"]
# demands = []
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.6,<2.7"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'inspect\.signature with non-constant function'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.7,<2.8"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'call_id with args \(NestedUserFunctionVariable\(\),\)'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.8,<2.10"
# outcome = "raise"
# error = "torch._dynamo.exc.Unsupported"
# match = 'id\(\) with unsupported args'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.6"
# blocked = true
# outcome = "raise"
# error = "torch._dynamo.exc.InternalTorchDynamoError"
# match = 'NestedUserFunctionVariable\(\) is not a constant'
# ///
"""create_block_mask looks the mask function up in a table by its id(), which Dynamo refuses for a function that is defined in
the compiled one. Correct: one graph, whose attention is eager's.
Source: pytorch issue 164247; a regression test of PyTorch's names it.
"""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def attended(x: torch.Tensor) -> torch.Tensor:
    total = x.sum(-1).detach()

    def mask(batch: torch.Tensor, head: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return (key <= query) & (total[batch, query] > -1e9)

    block_mask = create_block_mask(mask, B=1, H=None, Q_LEN=128, KV_LEN=128, device=x.device.type, _compile=False)
    heads = x.view(1, 1, 128, 16)
    return flex_attention(heads, heads, heads, block_mask=block_mask)


def test_one_graph(device: str, backend: str) -> None:
    x = torch.linspace(-1, 1, 2048, device=device).reshape(1, 128, 16)
    torch.testing.assert_close(torch.compile(attended, backend=backend, fullgraph=True)(x), attended(x))


if __name__ == "__main__":
    test_one_graph("cpu", "eager")
