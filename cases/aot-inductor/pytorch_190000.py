# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy", "setuptools"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/190000"
# upstream = "closed"
# upstream-seen = 2026-11-25
# title = "An AOTInductor package with an embedding on the CPU crashes"
# component = "aot-inductor"
# symptom = "crash"
# devices = ["cuda"]
# requires-torch = ">=2.6"
# timeout = 180
# compiles = false
# demands = []
# ///
"""The model copies indices from CUDA to the CPU, looks them up in an embedding that stays there, and goes on with
the rows on CUDA. Exporting and compiling work. In the package the C++ kernel of the lookup is called with a
pointer to device memory. Correct: eager's result. As reported the loaded package died with SIGSEGV inside the
generated cpp_fused_embedding kernel; a model that is on CUDA altogether worked. Export captures no graph with
Dynamo (compiles = false). Source: pytorch issue 190000.
"""

import tempfile

import torch
import torch._inductor


class Model(torch.nn.Module):
    def __init__(self, device: str) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(16, 8)
        self.head = torch.nn.Linear(8, 4, device=device)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        rows = self.embedding(indices.cpu())
        return self.head(rows.to(indices.device))


def test_lookup_on_the_cpu(device: str) -> None:
    torch.manual_seed(0)
    model, indices = Model(device).eval(), torch.tensor([3, 1, 2], device=device)
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        expected = model(indices)
        exported = torch.export.export(model, (indices,))
        package = torch._inductor.aoti_compile_and_package(exported, package_path=f"{folder}/model.pt2")
        actual = torch._inductor.aoti_load_package(package)(indices)
    torch.testing.assert_close(actual, expected)


if __name__ == "__main__":
    test_lookup_on_the_cpu("cuda")
