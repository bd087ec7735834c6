# /// script
# requires-python = ">=3.10"
# dependencies = [
#   "torch==2.15.0", "iree-turbine==3.9.0", "iree-base-compiler==3.9.0", "iree-base-runtime==3.9.0",
#   "numpy", "setuptools",
# ]
#
# [tool.pt2bugs]
# issue = "https://github.com/nod-ai/AMD-SHARK-ModelDev/pull/37"
# title = "turbine_cpu cannot import bool, bfloat16 and complex64 tensors made inside forward"
# component = "backend"
# symptom = "backend-failure"
# devices = ["cpu"]
# backends = ["turbine_cpu"]
# extra = "turbine"
# labels = ["complex"]
#
# [tool.pt2bugs.demands]
# test_int64 = []
# test_zero_dim = []
# test_float32 = []
# test_bool = []
# test_bfloat16 = []
# test_complex64 = ["complex"]
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# check = "test_bool"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "Please convert all Tensors to FakeTensors first.*aten\\._to_copy\\.default"
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# check = "test_bfloat16"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "JIT compilation failed"
# output = 'dense_resource<torch_tensor_2_torch\.bfloat16> : tensor<2xbf16>\}> : \(\) -> tensor<2xf32>'
#
# [[tool.pt2bugs.bug]]
# torch = ">=2.3"
# check = "test_complex64"
# outcome = "raise"
# error = "torch._dynamo.exc.BackendCompilerFailed"
# match = "JIT compilation failed"
# output = '"llvm\.insertvalue"\(.*\) -> !llvm\.struct<\(f32, f32\)>'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_int64"
# outcome = "crash"
# signal = "SIGTRAP"
# output = 'ElementsAttr does not provide iteration facilities .* dense_resource<torch_tensor_2_'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_zero_dim"
# outcome = "crash"
# signal = "SIGSEGV"
# output = 'Current thread [^\n]+first\):\n  File "[^"\n]+fx_importer\.py", line \d+ in _make_vtensor_literal_op\n'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_float32"
# outcome = "crash"
# signal = "SIGTRAP"
# output = 'ElementsAttr does not provide iteration facilities .* dense_resource<torch_tensor_2_'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_bool"
# outcome = "crash"
# signal = "SIGTRAP"
# output = 'ElementsAttr does not provide iteration facilities .* dense_resource<torch_tensor_2_'
#
# [[tool.pt2bugs.bug]]
# torch = "<2.2"
# check = "test_bfloat16"
# blocked = true
# outcome = "raise"
# error = "TypeError"
# match = "Got unsupported ScalarType BFloat16"
# ///
"""A tensor made in forward is an attribute into `lift_fresh_copy`; the importer writes its bytes out.

In iree-turbine 3.9.0, bool: the importer calls `.to(torch.uint8)` while the compiler's FakeTensorMode is
active, which refuses the real tensor. bfloat16: the constant's raw bytes stay bfloat16 where the code around
them was widened to float32. complex64: the bytes cannot be lowered. int64, 0-d and float32 work. With
shark-turbine 0.9.3 (torch 2.1) it is the other way round: complex64 works, int64, 0-d, float32 and bool kill
the process, and bfloat16 fails before any constant. Each check first multiplies without one, as the control.
The backend registers itself by a package entry point. Source: nod-ai/AMD-SHARK-ModelDev PR 37, pytorch issue
107961. The same trap on torch alone: fx_importer_graph_constants.
"""

import torch


def _check(values: object, dtype: torch.dtype, backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor(values, dtype=dtype)

    x = torch.tensor([1, 1]).to(dtype)
    control = torch.compile(lambda x: x * x, backend=backend)(x)
    torch.testing.assert_close(control, x, rtol=0, atol=0)
    torch.testing.assert_close(torch.compile(function, backend=backend)(x), function(x), rtol=0, atol=0)


def test_int64(backend: str) -> None:
    _check([1, 2], torch.int64, backend)


def test_zero_dim(backend: str) -> None:
    _check(3, torch.int64, backend)


def test_float32(backend: str) -> None:
    _check([1.0, 2.5], torch.float32, backend)


def test_bool(backend: str) -> None:
    _check([True, False], torch.bool, backend)


def test_bfloat16(backend: str) -> None:
    _check([1.0, 2.5], torch.bfloat16, backend)


def test_complex64(backend: str) -> None:
    _check([1 + 2j, 3 - 1j], torch.complex64, backend)


if __name__ == "__main__":
    test_int64("turbine_cpu")
    test_zero_dim("turbine_cpu")
    test_float32("turbine_cpu")
    test_bool("turbine_cpu")
    test_bfloat16("turbine_cpu")
    test_complex64("turbine_cpu")
