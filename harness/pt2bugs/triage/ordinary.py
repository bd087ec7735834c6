"""Messages that ordinary mistakes give, or many bugs, invented in the words of Python and torch.

A pattern that fits one of them says little.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pt2bugs.case.patterns import search

MISTAKES = (
    "element 0 of tensors does not require grad and does not have a grad_fn",
    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
    "the desired behavior.",
    "One of the differentiated Tensors does not require grad",
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [4]], which is output 0 of AddBackward0, is at version 1; expected version 0 instead.",
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [4]] is at version 1; expected version 0 instead.",
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed).",
    "Output 0 of SplitBackward0 is a view and is being modified inplace. This view is the output of a function that "
    "returns multiple views.",
    "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    "The size of tensor a (4) must match the size of tensor b (8) at non-singleton dimension 0",
    "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)",
    "shape '[3, 4]' is invalid for input of size 10",
    "Cannot view a tensor with shape torch.Size([3, 4]) and strides (1, 3) as a tensor with shape (12,)!",
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
    "contiguous subspaces). Use .reshape(...) instead.",
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "Unhandled FakeTensor Device Propagation for aten.mul.Tensor, found two different devices cuda:0, cpu",
    "Unhandled FakeTensor Device Propagation for aten.add.Tensor, found two different devices cuda:0, cpu",
    "Unhandled FakeTensor Device Propagation for aten.add_.Tensor, found two different devices cuda:0, cpu",
    "Tensor on device cpu is not on the expected device meta!",
    "expected scalar type Float but found Half",
    "expected m1 and m2 to have the same dtype, but got: float != double",
    "Got unsupported ScalarType BFloat16",
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    "Cannot access data pointer of Tensor that doesn't have storage",
    "The tensor has a non-zero number of elements, but its data is not allocated yet.",
    "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. "
    "Found in aten.add.Tensor(FakeTensor(..., size=(3,)), tensor([...], size=(3,)))",
    "expand: the requested shape has too few dimensions!",
    "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).",
    "Could not guard on data-dependent expression u0 > 3 (unhinted: u0 > 3).",
    "Could not extract specialized integer from data-dependent expression u0",
    "aten._local_scalar_dense.default",
    "aten.nonzero.default",
    "data dependent operator: aten._local_scalar_dense.default; to enable, set capture_scalar_outputs to True",
    "Dynamic shape operator: aten.nonzero.default; to enable, set capture_dynamic_output_shape_ops = True",
    "call_function BuiltinVariable(print) [ConstantVariable(str)] {}",
    "call_function UserDefinedClassVariable() [] {}",
    "call_method UserDefinedObjectVariable(Model) forward [TensorVariable()] {}",
    "call_function UserDefinedObjectVariable(Model) [TensorVariable()] {}",
    "call_method TensorVariable() numpy [] {}",
    "builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False",
    "'skip function print in file builtins'",
    "Attempted to call function marked as skipped",
    "Unsupported method call",
    "Data-dependent branching",
    "hit config.recompile_limit (8)",
    "FailOnRecompileLimitHit: recompile_limit reached with fullgraph=True.",
    "Using FX to symbolically trace a dynamo-optimized function. This is not supported at the moment.",
    "Detected that you are using FX to symbolically trace a dynamo-optimized function. This is not supported at the "
    "moment.",
    "Failed to find C compiler. Please specify via CC environment variable.",
    "No module named 'triton'",
    "Cannot find a working triton installation.",
    "Unexpectedly found a <class 'torch.Tensor'> in the outputs.",
    "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` has 2 elements",
    "Encountered aliasing during higher order op tracing",
    "Node type mismatch; expected <class 'tuple'>, but got <class 'dict'>.",
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod.",
    "Unhandled FakeTensor Device Propagation for aten.add_.Tensor, found two different devices meta, cpu",
    "Unhandled FakeTensor Device Propagation for aten.mm.default, found two different devices cpu, meta",
    "Unhandled FakeTensor Device Propagation for aten.addmm.default, found two different devices cpu, meta",
    "Expected tensors only, but got: <class 'int'>",
    "Expected positional argument for parameter x, but one was not passed in",
    "Failed to produce a graph during tracing. Tracing through 'f' must produce a single graph.",
    "Timeout (>30.0s) from pytest-timeout.",
    "Segmentation fault (core dumped)",
    "Aborted (core dumped)",
    "died by SIGSEGV",
    "died by SIGABRT",
    "died by SIGFPE",
    "free(): invalid pointer",
    "munmap_chunk(): invalid pointer",
    "malloc(): invalid size (unsorted)",
    "double free or corruption (!prev)",
    "corrupted size vs. prev_size",
    "corrupted double-linked list",
    "terminate called after throwing an instance of 'std::runtime_error'",
    "Dimension out of range (expected to be in range of [-1, 0], but got 5)",
    "missing a required argument: 'step'",
    "Unhandled FakeTensor Device Propagation for aten.mul.Tensor, found two different devices meta, cpu",
    "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. "
    "Found in aten.where.self(FakeTensor(..., size=(3,)), tensor([...], size=(3,)))",
    "unsupported operand type(s) for +: 'FakeTensor' and 'NoneType'",
    "invalid syntax (<eval_with_key>.0, line 6)",
    "type numpy.ndarray doesn't define __round__ method",
    "Unknown format code 'd' for object of type 'str'",
)
"""What torch and Python say on purpose to whoever made a mistake: from the same frames for everybody."""

SHARED = (
    "",
    "list index out of range",
    "tuple index out of range",
    "index 4 is out of bounds for dimension 0 with size 3",
    "'NoneType' object has no attribute 'shape'",
    "'NoneType' object is not subscriptable",
    "'NoneType' object is not iterable",
    "'int' object is not callable",
    "'tuple' object is not an iterator",
    "'list' object is not an iterator",
    "'val'",
    "'count'",
    "'value'",
    "'type' object does not support the context manager protocol",
    "unsupported operand type(s) for *: 'NoneType' and 'int'",
    "slice indices must be integers or None or have an __index__ method",
    "division by zero",
    "not enough values to unpack (expected 2, got 1)",
    "forward() missing 1 required positional argument: 'x'",
    "f() got an unexpected keyword argument 'x'",
    "name 'torch' is not defined",
    "LoweringException: AssertionError: \n  target: aten.add.Tensor\n  args[0]: TensorBox(StorageBox(",
    "LoweringException: ZeroDivisionError: division by zero\n  target: aten.add.Tensor",
    "LoweringException: NotImplementedError: no such operator\n  target: aten.add.Tensor",
    "backend='inductor' raised:\nAssertionError: ",
    "backend='inductor' raised:\nRuntimeError: ",
    "Dynamo failed to run FX node with fake tensors: call_function <built-in function add>: got RuntimeError()",
    "Failed running call_function <built-in function add>(*(FakeTensor(..., size=(3,)), 1), **{}):\n",
    "SymNodeVariable() is not a constant",
    "Cannot call sizes() on tensor with symbolic sizes/strides",
    "Cannot call numel() on tensor with symbolic sizes/strides",
    "Cannot call strides() on tensor with symbolic sizes/strides",
    "CppCompileError: C++ compile error",
    "Guard check failed",
    "Guard failed on the same frame it was created. This is a bug - please create an issue.",
    "JIT compilation failed",
    'isIntList() INTERNAL ASSERT FAILED at "ivalue_inl.h":1, please report a bug to PyTorch. Expected IntList',
    "TensorVariable() is not a constant",
    "Cannot construct `ConstantVariable` for value of type <class 'torch._dynamo.variables.tensor.TensorVariable'>.",
    "'float' object has no attribute 'meta'",
    "'int' object has no attribute 'format'",
    "Node add_25 was invalid, but is output",
    "Attempting to use FunctionalTensor on its own. Instead, please use it with a corresponding FunctionalTensorMode()",
)
"""Messages that unrelated failures share: only the frame that raised one can tell which failure it is."""

_COMPARISON = re.compile(
    r"^(?:Tensor-likes are not |Scalars are not |Booleans mismatch|Mismatched elements|Greatest (?:absolute|relative) "
    r"difference|Expected .* but got |Absolute difference|Relative difference|The (?:values for attribute|length of "
    r"the sequences|keys of the mappings)|Object comparison failed|Sparse |The failure occurred for item|None mismatch)"
    r"[^\n]*$",
    re.MULTILINE,
)
"""The lines of torch.testing, which every comparison that fails has."""
_USER_CODE = re.compile(
    r"^from user code:?[^\n]*\n(?:[ \t]+[^\n]*\n?|\n(?=[ \t]+\S))*"
    r"|^Original traceback:[^\n]*\n(?:[ \t]+[^\n]*\n?)*"
    r"|^[ \t]*File \"[^\n]*\n(?:[ \t]+[^\n]*(?:\n|$))?",
    re.MULTILINE,
)
_HINTS = re.compile(
    r"^(?:Set TORCH|You can suppress|    import torch|    torch\._dynamo\.config\.suppress|For even more developer"
    r"|(?:\s*)Please (?:report|file)|Exception raised from |frame #\d+:(?! at::)|While executing "
    r"|\[\.\.\. \d+ characters left"
    r"|GraphModule: |Hint: enable anomaly)[^\n]*$",
    re.MULTILINE,
)


_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[^}]*\}|(?<!\w)(?P<number>\d+)(?!\w)")
"""Of a regular expression: what is no number of the message, and the numbers."""


def _any_numbers(pattern: str) -> str:
    """The pattern with any number where it has one: sizes and versions are the program's."""
    return _PARTS.sub(lambda part: r"\d+" if part["number"] else part[0], pattern)


@lru_cache(maxsize=4096)
def is_mistake(pattern: str) -> bool:
    """Whether a pattern fits what torch or Python says on purpose to whoever made a mistake, numbers aside."""
    return any(search(_any_numbers(pattern), one) for one in MISTAKES)


@lru_cache(maxsize=4096)
def is_ordinary(pattern: str) -> bool:
    """Whether a pattern says too little by itself: it fits a mistake, or what many bugs say."""
    return is_mistake(pattern) or any(search(_any_numbers(pattern), one) for one in SHARED)


def own_message(message: str) -> str:
    """What of a message is its own: not the lines of a comparison, of the user's program, of general advice."""
    for pattern in (_USER_CODE, _COMPARISON, _HINTS):
        message = pattern.sub("", message)
    return message.strip()
