"""The operators of a program, read from its text: nothing is imported and nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

_MACHINERY = (
    "autocast",
    "autograd",
    "backends",
    "compile",
    "compiler",
    "cuda",
    "device",
    "distributed",
    "enable_grad",
    "export",
    "fx",
    "get_default_dtype",
    "inference_mode",
    "is_grad_enabled",
    "jit",
    "library",
    "manual_seed",
    "nn.Module",
    "nn.ModuleDict",
    "nn.ModuleList",
    "nn.Parameter",
    "nn.Sequential",
    "no_grad",
    "optim",
    "profiler",
    "random",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "testing",
    "utils",
    "xpu",
)
"""Names below `torch` that compile, measure, check or hold what a program calls, and are no operators."""
_METHOD_NAMES = """
abs absolute acos acosh add_ addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax
angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere as_strided
as_strided_scatter asin asinh atan atan2 atanh baddbmm bernoulli bincount bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm broadcast_to cauchy_ ccol_indices ceil chalf cholesky
cholesky_inverse cholesky_solve chunk clamp clamp_max clamp_min clip clone coalesce col_indices conj
conj_physical contiguous copy_ copysign corrcoef cos cosh count_nonzero cov cross crow_indices cummax cummin
cumprod cumsum deg2rad dequantize det detach diag diag_embed diagflat diagonal diagonal_scatter diff digamma
dist div divide dot dsplit eq equal erf erfc erfinv exp exp2 expand expand_as expm1 exponential_ fill_
fill_diagonal_ fix flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp gather
gcd ge geometric_ geqrf ger greater greater_equal gt hardshrink heaviside histc histogram hsplit hypot i0 igamma
igammac index_add index_copy index_fill index_put index_reduce index_select indices inner int_repr inverse
is_nonzero isclose isfinite isinf isnan isneginf isposinf isreal istft kron kthvalue lcm ldexp le lerp less
less_equal lgamma log log10 log1p log2 log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logdet
logical_and logical_not logical_or logical_xor logit logsumexp lt lu_solve masked_fill masked_scatter
masked_select matmul matrix_exp matrix_power max maximum mean median min minimum mm moveaxis movedim msort mul
multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy ne neg
negative new_empty new_empty_strided new_full new_ones new_zeros nextafter nonzero nonzero_static norm normal_
not_equal orgqr ormqr outer permute pinverse polygamma positive pow prelu prod put qr quantile rad2deg random_
ravel reciprocal relu remainder renorm repeat repeat_interleave reshape reshape_as resize resize_as
resize_as_sparse_ resolve_conj resolve_neg roll rot90 round row_indices rsqrt scatter scatter_add scatter_reduce
select select_scatter set_ sgn sigmoid sign signbit sin sinc sinh slice_inverse slice_scatter slogdet smm
softmax sparse_mask sparse_resize_ sparse_resize_and_clear_ split_with_sizes sqrt square squeeze sspaddmm std
stft sub subtract sum sum_to_size svd swapaxes swapdims t take take_along_dim tan tanh tensor_split tile to
to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr topk trace
transpose triangular_solve tril triu true_divide trunc type_as unbind unflatten unfold uniform_
unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze var vdot view view_as vsplit
where xlogy zero_
"""
_METHODS = frozenset(_METHOD_NAMES.split())
"""Methods of `torch.Tensor` that are operators of ATen in torch 2.13, less those that any container has (`index`)
and those that only ask (`size`)."""


def operators(text: str) -> list[str]:
    """Return the operators that a program calls, sorted: functions, modules and classes by their full name below
    `torch`, methods of tensors as ``Tensor.NAME``.

    A method is taken for one of a tensor by its name alone. Operators written as signs (``+``) and those that are
    handed on without a call are left out.

    Args:
        text: Python that can be parsed.
    """
    return sorted(filter(None, _called(text, operator_of)))


def calls(text: str) -> list[str]:
    """Return all of torch that a program calls, sorted: its operators, and what compiles, exports or measures.

    Args:
        text: Python that can be parsed.
    """
    return sorted(filter(None, _called(text, _call_of)))


def _called(text: str, name_of: Callable[[ast.expr, Mapping[str, str]], str]) -> set[str]:
    tree = ast.parse(text)
    names = dict(imported(tree))
    return {name_of(node.func, names) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def _call_of(function: ast.expr, names: Mapping[str, str]) -> str:
    full = _full_name(function, names)
    return full if full.startswith("torch.") else operator_of(function, names)


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, and the full name of what it is.

    Args:
        tree: of the program.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def operator_of(function: ast.expr, names: Mapping[str, str]) -> str:
    """Return the operator that a call of something is a call of; empty if of none.

    Args:
        function: that is called.
        names: that the program's imports bind, and what they are.
    """
    if full := _full_name(function, names):
        root, _, name = full.partition(".")
        return full if root == "torch" and name and not _is_machinery(name) else ""
    if isinstance(function, ast.Attribute):
        method = function.attr
        # A trailing underscore is the same operator in place.
        return f"Tensor.{method}" if {method, method.removesuffix("_")} & _METHODS else ""
    return ""


def _full_name(function: ast.expr, names: Mapping[str, str]) -> str:
    """Return the dotted name that an expression has by the imports; empty if it is no name of an import."""
    parts = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name) or function.id not in names:
        return ""
    return ".".join([names[function.id], *reversed(parts)])


def _is_machinery(name: str) -> bool:
    """Return whether a name below `torch` is no operator; a private one is, if it is a function (`_foreach_add`)."""
    is_private_module = name.startswith("_") and "." in name
    return is_private_module or any(name == word or name.startswith(f"{word}.") for word in _MACHINERY)
