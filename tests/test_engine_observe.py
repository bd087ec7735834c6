"""What of an exception is kept: the torch frames that tell one failure from another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from pt2bugs.case.observation import MAX_FRAMES, MAX_TIMEOUT_FRAMES, Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.observe import CheckTimeout, observe_exception, timeout_in
from pt2bugs.engine.protocol import ChildExit
from pt2bugs.run.measurement import observe_exit


def function(file: str, body: str, **names: Any) -> Callable[..., Any]:
    """A function `call` of a file of torch."""
    scope: dict[str, Any] = names
    exec(compile(f"def call(*arguments):\n    {body}\n", f"/env/torch/{file}", "exec"), scope)
    made: Callable[..., Any] = scope["call"]
    return made


def seen(call: Callable[..., Any], *arguments: Any) -> Observation:
    with pytest.raises(BaseException) as caught:
        call(*arguments)
    return observe_exception(caught.value, "/cases/pytorch_1.py")


@pytest.mark.parametrize(("message", "frames"), [("", ["lists", "symbolic_convert"]), ("told", [])])
def test_an_error_without_a_word_has_the_frames_of_its_cause(message: str, frames: list[str]) -> None:
    """As InternalTorchDynamoError of torch 2.0: all are raised in one place."""
    inner = function("_dynamo/lists.py", "raise KeyError('x')")
    middle = function("_dynamo/symbolic_convert.py", "inner()", inner=inner)
    body = f"try: middle()\n    except KeyError as error: raise RuntimeError({message!r}) from error"
    observed = seen(function("_dynamo/convert_frame.py", body, middle=middle))
    assert observed.frame == "torch/_dynamo/convert_frame.py:3 call"
    assert observed.frames[:2] == [f"torch/_dynamo/{name}.py:2 call" for name in frames]


def at(file: str, body: str, **names: Any) -> Callable[..., Any]:
    """A function `call` of any file."""
    scope: dict[str, Any] = names
    exec(compile(f"def call(*arguments):\n    {body}\n", file, "exec"), scope)
    made: Callable[..., Any] = scope["call"]
    return made


SITE = "/env/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("file", "outside"),
    [
        (f"{SITE}/mine/lowering.py", "mine/lowering.py:2 call"),
        ("/home/somebody/work/mine/lowering.py", "mine/lowering.py:2 call"),
        (f"{SITE}/sympy/core.py", ""),
        (f"{SITE}/torch/testing/_comparison.py", ""),
        (f"{SITE}/pt2bugs/engine/check.py", ""),
        ("/clone/harness/pt2bugs/engine/check.py", ""),
        (contextlib.__file__, ""),
        ("<string>", ""),
        ("/cases/pytorch_1.py", ""),
    ],
)
def test_where_outside_torch_an_exception_was_raised(file: str, outside: str) -> None:
    lowered = at(file, "raise NotImplementedError('cannot lower')")
    again = function("_dynamo/output_graph.py", "inner()", inner=lowered)
    assert seen(at("/cases/pytorch_1.py", "inner()", inner=again)).outside == outside
    # Wrapped, its own frames are those of the wrapper alone.
    body = "try: inner()\n    except NotImplementedError as error: raise RuntimeError('wrapped') from error"
    wrapped = function("_dynamo/output_graph.py", body, inner=lowered)
    assert seen(at("/cases/pytorch_1.py", "inner()", inner=wrapped)).outside == outside


def test_where_the_time_was_up_each_function_stands_once() -> None:
    last = function("_dynamo/utils.py", "raise CheckTimeout", CheckTimeout=CheckTimeout)
    again = function("_inductor/lowering.py", "return call(n - 1) if (n := arguments[0]) else last()", last=last)
    outer = function("_inductor/scheduler.py", "again(40)", again=again)
    observed = seen(outer)
    assert observed.outcome is Outcome.TIMEOUT
    assert (observed.frame, observed.frames) == (
        "torch/_dynamo/utils.py:2 call",
        ["torch/_inductor/lowering.py:2 call", "torch/_inductor/scheduler.py:2 call"],
    )


def test_the_time_was_up_while_another_exception_was_handled() -> None:
    """Its frames are asked for, and not those of the other exception."""
    body = "try: raise AttributeError\n    except AttributeError: raise CheckTimeout"
    last = function("_inductor/virtualized.py", body, CheckTimeout=CheckTimeout)
    observed = seen(function("_inductor/lowering.py", "last()", last=last))
    assert (observed.frame, observed.frames) == (
        "torch/_inductor/virtualized.py:3 call",
        ["torch/_inductor/lowering.py:2 call"],
    )


def test_a_timeout_is_found_below_what_was_raised_on_its_way_out() -> None:
    """As torch 2.9.0 does, whose frame conversion raises UnboundLocalError then."""
    last = function("_inductor/lowering.py", "raise CheckTimeout", CheckTimeout=CheckTimeout)
    body = "try: last()\n    finally: unbound"
    with pytest.raises(NameError) as caught:
        function("_dynamo/convert_frame.py", body, last=last)()
    assert type(timeout_in(caught.value)) is CheckTimeout
    assert timeout_in(ValueError()) is None


@pytest.mark.parametrize(("error", "most"), [(CheckTimeout, MAX_TIMEOUT_FRAMES), (ValueError, MAX_FRAMES)])
def test_the_number_of_frames(error: type[BaseException], most: int) -> None:
    below = function("deep/file_0.py", "raise error('words')", error=error)
    for number in range(1, 40):
        below = function(f"deep/file_{number}.py", "below()", below=below)
    observed = seen(below)
    assert observed.frame == "torch/deep/file_0.py:2 call"
    assert [observed.frame, *observed.frames] == [f"torch/deep/file_{number}.py:2 call" for number in range(most)]


def test_the_stack_of_a_crash_is_without_the_harness() -> None:
    dump = (
        "printed\nFatal Python error: Aborted\n\nCurrent thread 0x0000 (most recent call first):\n"
        '  File "/env/torch/_ops.py", line 5 in __call__\n  File "/cases/pytorch_1.py", line 9 in test_it\n'
        '  File "/site/pt2bugs/engine/check.py", line 208 in _call\n  File "<string>", line 12 in <module>\n'
        "\nExtension modules: numpy._core, torch._C (total: 2)\n"
    )
    ended = ChildExit({"started": {}}, signal=6, output_tail=dump)
    crash, _ = observe_exit(ended, 60.0, 4096)
    assert crash.outcome is Outcome.CRASH
    assert crash.output_tail.strip().endswith("line 9 in test_it")
    assert "pt2bugs/engine" not in crash.output_tail
    assert "Extension modules" not in crash.output_tail
    report = {"observation": Observation(Outcome.PASS).as_dict(), "text": ""}
    passed, _ = observe_exit(ChildExit({"report": report}, exit_status=0, output_tail=dump), 60.0, 4096)
    assert "pt2bugs/engine/check.py" in passed.output_tail, "a check may print what it likes"
