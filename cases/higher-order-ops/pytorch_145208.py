# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.11.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/145208"
# fix = "https://github.com/pytorch/pytorch/pull/188869"
# upstream = "open"
# upstream-seen = 2026-11-25
# # The thread names pull request 188869 as the fix, and is open all the same.
# title = "Compiled flex_attention with a learned scale that has no dimensions"
# component = "higher-order-ops"
# symptom = "backend-failure"
# devices = ["cuda"]
# requires-torch = ">=2.6"
# timeout = 180
# labels = ["flex-attention"]
# demands = ["training"]
# ///
"""A tensor that score_mod uses may be a parameter, whose gradient the backward kernel of flex attention adds up at
the places where the tensor was read. The lowering of the backward pass fails where that is a tensor without
dimensions, which is read without an index. Correct: the gradient of softmax(q k / 8 * scale) v. As reported:
LoweringException out of flex_attention_backward. Source: pytorch issue 145208.
"""

import torch
from torch.nn.attention.flex_attention import flex_attention


def test_gradient_of_the_scale(device: str, backend: str) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 1, 128, 64).to(device).requires_grad_() for _ in range(3))

    def learned(attention) -> torch.Tensor:
        scale = torch.tensor(2.0, device=device, requires_grad=True)
        attention(scale).square().sum().backward()
        return scale.grad

    def by_hand(scale: torch.Tensor) -> torch.Tensor:
        return torch.softmax(query @ key.mT / 8 * scale, dim=-1) @ value

    def flex(scale: torch.Tensor) -> torch.Tensor:
        def score_mod(score, batch, head, row, column):
            return score * scale

        return compiled(query, key, value, score_mod=score_mod)

    compiled = torch.compile(flex_attention, backend=backend)
    torch.testing.assert_close(learned(flex), learned(by_hand), rtol=0.02, atol=0.1)


if __name__ == "__main__":
    test_gradient_of_the_scale("cuda", "inductor")
