# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.14.1", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/192748"
# fix = "https://github.com/pytorch/pytorch/pull/193294"
# title = "A state made in a CUDA-graph function and changed in the next call crashes"
# component = "inductor"
# symptom = "crash"
# devices = ["cuda"]
# labels = ["cudagraphs"]
# demands = ["mutation"]
# ///
"""The first call makes the state inside the compiled function, so it lies in the memory pool of the CUDA graphs.
The second one gets it as an input that it changes in place, which CUDA graphs take for memory at a fixed
address; but the call starts a new generation, and the pool's memory is given back before the change. Correct:
the states of eager, or an error that names CUDA graphs. As reported the process died with SIGSEGV in the second
call, also with marked steps; the default mode worked. Source: pytorch issue 192748, PR 193294.
"""

import torch


class Accumulate(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)

    def forward(self, x: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        if state is None:
            state = torch.zeros_like(x)
        state.copy_(state + self.linear(x))
        return x + state, state


def test_state_of_the_first_call(device: str) -> None:
    model, x = Accumulate().to(device).eval(), torch.ones(1, 64, device=device)

    def last_output(function) -> torch.Tensor:
        output, state = function(x)
        for _ in range(5):
            output, state = function(x, state)
        return output.clone()

    with torch.no_grad():
        expected = last_output(model)
        try:
            actual = last_output(torch.compile(model, mode="reduce-overhead"))
        except RuntimeError as error:
            if "CUDAGraph" not in str(error):
                raise
        else:
            torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_state_of_the_first_call("cuda")
