"""Graph breaks and repeated compilations, as torch logs them."""

from __future__ import annotations

from pt2bugs.triage.compilation import Compilation, places_in

BEGIN = "V1123 15:41:34.585000 10778 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
AGAIN = "V1123 15:41:36.559000 10778 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] "
BREAK = """\
Graph break in user code at p.py:10
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):

Unsupported Tensor.item() call with capture_scalar_outputs=False
  Explanation: Dynamo does not support tracing `Tensor.item()`.
  Hint: Set `torch._dynamo.config.capture_scalar_outputs = True` to include these operations.
  Hint: This graph break is fundamental - it is unlikely that Dynamo will ever be able to trace through your code.

  Developer debug context: call_method TensorVariable() item () {}
"""
OLDER = "Graph break in user code at p.py:8\nReason: Data-dependent jump\nUser code traceback:\n"
RECOMPILED = """\
Recompiling function f in p.py:5
    triggered by the following guard failure(s):
    - 0/0: tensor 'x' size mismatch at index 0. expected 2, actual 3  # y = x + 1  # p.py:6 in f
"""
RESUMED = "Recompiling function resume_in_f in p.py:8\n    - 1/0: k == 1.0  # (HINT: mark k dynamic)\n"


def logged(begin: str, text: str) -> str:
    return "".join(f"{begin}{line}\n" for line in text.splitlines())


def test_how_many_where_and_what_torch_suggests() -> None:
    """Also in the format of older releases, and of many processes."""
    ranked = f"[rank0]:{BEGIN}"
    logs = logged(BEGIN, BREAK) + logged(AGAIN, RECOMPILED) + logged(BEGIN, BREAK) + logged(BEGIN, OLDER)
    logs += logged(AGAIN, RESUMED)
    places = places_in(logs)
    assert [(place.what, place.where, place.times) for place in places] == [
        ("break", "p.py:10", 2),
        ("recompilation", "p.py:5", 1),
        ("break", "p.py:8", 1),
        ("recompilation", "p.py:8", 1),
    ]
    assert places[0].reason == "Unsupported Tensor.item() call with capture_scalar_outputs=False"
    assert places[0].hints == ("Set `torch._dynamo.config.capture_scalar_outputs = True` to include these operations.",)
    assert places[1].reason == "tensor 'x' size mismatch at index 0. expected 2, actual 3"
    assert (places[2].reason, places[3].hints) == ("Data-dependent jump", ("mark k dynamic",))
    assert places_in(logged(ranked, BREAK))[0].where == "p.py:10"
    assert places_in("") == []


def test_it_is_told_in_few_sentences() -> None:
    compilation = Compilation(5, 3, 2, tuple(places_in(logged(BEGIN, BREAK) + logged(AGAIN, RECOMPILED))))
    assert compilation.sentences() == [
        "Dynamo made 5 graphs, with 3 graph breaks, and compiled 2 times again.",
        "Graph break at p.py:10 (1 time): Unsupported Tensor.item() call with capture_scalar_outputs=False",
        "  torch suggests: Set `torch._dynamo.config.capture_scalar_outputs = True` to include these operations.",
        "Compiled again at p.py:5 (1 time): tensor 'x' size mismatch at index 0. expected 2, actual 3",
    ]
