"""Scripts as people post them become one straight check: options, mains, decorators, globals, loops."""

from __future__ import annotations

import ast

import pytest
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.curate.script import script_to_check


def program(script: str) -> str:
    text = script_to_check(script, "script.py").program("test_it")
    ast.parse(text)
    return text


OPTIONS = """
import argparse
import torch

def fn(x):
    return x * 2

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backend", default="aot_eager")
    parser.add_argument("--size", type=int, default=16)
    args = parser.parse_args()
    x = torch.randn(args.size, device=args.device)
    assert torch.allclose(torch.compile(fn, backend=args.backend)(x), fn(x))

if __name__ == "__main__":
    main()
"""


def test_options_have_their_defaults_and_a_main_stands_where_it_was_called() -> None:
    draft = script_to_check(OPTIONS, "script.py")
    assert (draft.parameters, draft.backends) == (("device", "backend"), ("aot_eager",))
    text = draft.program("test_it")
    assert "def main" not in text
    assert "parser.parse_args([])" in text
    assert "torch.randn(args.size, device=device)" in text
    assert "assert_close(torch.compile(fn, backend=backend)(x), fn(x), rtol=1e-05, atol=1e-08)" in text


@pytest.mark.parametrize(
    "main",
    [
        "def main():\n    return f(1)\nmain()",
        "def main(n=3):\n    print(n)\nmain()",
        "def main():\n    f(1)\nmain()\nmain()",
        "x = 1\ndef main():\n    x = 2\n    print(x)\nmain()\nprint(x)",
        "def main():\n    global n\n    n = 2\nmain()",
    ],
)
def test_a_main_that_is_more_than_its_body_stays(main: str) -> None:
    assert "def main" in program(f"import torch\n{main}\n")


def test_a_compiled_function_is_compared_with_its_plain_form() -> None:
    text = program("import torch\n@torch.compile(fullgraph=True)\ndef f(x):\n    return x\nprint(f(torch.ones(2)))\n")
    assert "@torch.compile" not in text
    assert "compiled_f = torch.compile(f, backend=backend, fullgraph=True)" in text
    assert "torch.testing.assert_close(compiled_f(torch.ones(2)), f(torch.ones(2)))" in text


def test_a_compiled_function_that_another_calls_keeps_its_decorator() -> None:
    text = program("import torch\n@torch.compile\ndef f(x):\n    return x\ndef g(x):\n    return f(x)\nprint(g(1))\n")
    assert "@torch.compile(backend=backend)" in text


def test_what_functions_share_stays_shared_and_is_not_changed_by_eager() -> None:
    script = "import torch\nn = 0\ndef f(x):\n    global n\n    n += 1\n    return x + n\n"
    text = program(f"{script}g = torch.compile(f)\ng(torch.zeros(2))\nprint(n)\n")
    assert "global n\n    n = 0" in text
    assert "assert_close" not in text
    assert f"{PLACEHOLDER}: what is right here? the script printed it: n" in text
    names: dict[str, object] = {}
    plain = program(f"{script}f(1)\nassert n == 1\n").replace("import torch", "")
    exec(plain, names)
    for _ in range(2):
        names["test_it"]()  # type: ignore[operator]


def test_comparisons_that_a_loop_prints_are_assertions() -> None:
    loop = "for name in ('eager', 'inductor'):\n    print(name, torch.equal(torch.compile(f, backend=name)(x), f(x)))\n"
    text = program(f"import torch\ndef f(x):\n    return x\nx = torch.ones(2)\n{loop}")
    assert "assert_close(torch.compile(f, backend=name)(x), f(x), rtol=0, atol=0)" in text
    assert PLACEHOLDER not in text


def test_results_that_are_printed_side_by_side_are_compared() -> None:
    script = "import torch\nmodel = torch.nn.ReLU()\nx = torch.ones(2)\nwith torch.no_grad():\n    a = model(x)\n"
    text = program(f"{script}    b = torch.compile(model)(x)\nprint(a)\nprint(b)\n")
    assert "torch.testing.assert_close(b, a)" in text
    assert PLACEHOLDER not in text


def test_random_arguments_are_not_drawn_twice() -> None:
    text = program("import torch\ndef f(x):\n    return x\ng = torch.compile(f)\nprint(g(torch.randn(2)))\n")
    assert "assert_close" not in text
    assert PLACEHOLDER in text


def test_a_name_that_nothing_reads_is_not_bound() -> None:
    script = "import os, sys\nfrom typing import List, Any\nimport torch\nseen: Any = sys\nn = 3\nx = torch.ones(2)\n"
    text = program(f"{script}y = x.clone()\nassert seen and x.sum() == 2\n")
    assert "    x.clone()\n" in text, "it is computed nevertheless"
    assert "n = 3" not in text
    assert "import sys\nfrom typing import Any\n\nimport torch\n" in text
    assert "import os" not in text
    assert "y = x.clone()" in program(f"{script}y = x.clone()\nassert eval('y.sum()') == 2\n")


def test_an_import_that_may_register_something_stays() -> None:
    assert "import torch_mlir\n" in program("import torch_mlir\nimport torch\nassert torch.ones(1)\n")


@pytest.mark.parametrize(
    ("used", "written"),
    [
        ("print(torch.compile(f)(x))", "expected = f(x)\n    assert actual == expected, f'"),
        (
            "y = torch.compile(f)(x)",
            "assert y == expected, f'torch.compile(f, backend=backend)(x) is {y}, not ",
        ),
    ],
)
def test_a_function_that_gives_a_bool_is_compared_in_words_of_its_own(used: str, written: str) -> None:
    """`check` refuses "Booleans mismatch: True is not False" as the identity of a bug."""
    text = program(f"import torch\ndef f(x):\n    return x.is_contiguous()\nx = torch.ones(2)\n{used}\n")
    assert written in text
    assert "assert_close" not in text
