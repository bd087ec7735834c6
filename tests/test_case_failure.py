"""What makes two failures the same, at each level."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pt2bugs.case.failure import Failure, Level, documents, normalize, show_one_bug
from pt2bugs.case.model import Bug
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome

RAISED = Observation(Outcome.RAISE, "RuntimeError", "size 3 at 0x7f00aa", "torch/a.py:10 f")


def failure(seen: Observation, **changes: object) -> Failure:
    changed = Failure.of(replace(seen, **changes))  # type: ignore[arg-type]
    assert changed is not None
    return changed


def same_at(first: Failure, second: Failure) -> list[Level]:
    """The levels at which two failures are the same; sameness and fingerprints must agree."""
    levels = [level for level in Level if first.same(second, level)]
    assert levels == [level for level in Level if first.fingerprint(level) == second.fingerprint(level)]
    return levels


def test_each_level_asks_for_more() -> None:
    first = failure(RAISED)
    assert same_at(first, failure(RAISED, message="size 4 at 0x7f00bb", frame="torch/a.py:12 f")) == list(Level)
    assert same_at(first, failure(RAISED, frame="torch/b.py:10 f")) == [Level.TYPE, Level.MESSAGE]
    assert same_at(first, failure(RAISED, message="other words")) == [Level.TYPE]
    assert same_at(first, failure(RAISED, error_type="ValueError")) == []
    assert same_at(first, failure(RAISED, outcome=Outcome.WRONG)) == []
    assert same_at(first, failure(RAISED, signal="SIGSEGV")) == []
    assert not first.same(None, Level.TYPE)


def test_exceptions_move_between_modules() -> None:
    moved = failure(RAISED, error_type="torch._dynamo.exc.RuntimeError")
    assert failure(RAISED).same(moved, Level.FRAME)


def test_numbers_of_a_wrong_result_count_at_frame_alone() -> None:
    wrong = Observation(Outcome.WRONG, "AssertionError", "got [1.0, 2.5], not [1.0, 2.0]")
    assert same_at(failure(wrong), failure(wrong, message="got [1.0, 3.5], not [1.0, 2.0]")) == [
        Level.TYPE,
        Level.MESSAGE,
    ]
    assert failure(wrong).values == ("1.0", "2.5", "1.0", "2.0")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        # 2.0, 2.1 to 2.6, and from 2.7 on
        ("torch._dynamo.exc.BackendCompilerFailed", "debug_wrapper raised ZeroDivisionError: division by zero\n\nSet"),
        (
            "torch._dynamo.exc.BackendCompilerFailed",
            "backend='inductor' raised:\nLoweringException: ZeroDivisionError: division by zero\n  target: aten.split",
        ),
        ("torch._inductor.exc.InductorError", "LoweringException: ZeroDivisionError: division by zero"),
        ("ZeroDivisionError", "division by zero"),
    ],
)
def test_wrappers_are_looked_through(error: str, message: str) -> None:
    seen = failure(Observation(Outcome.RAISE, error, message))
    assert (seen.error, seen.message) == ("ZeroDivisionError", "division by zero")


def test_wrapped_exceptions_without_a_word() -> None:
    text = "backend='inductor' raised:\nLoweringException: AssertionError: \n  target: aten.empty_strided"
    seen = failure(Observation(Outcome.RAISE, "torch._dynamo.exc.BackendCompilerFailed", text))
    assert (seen.error, seen.message) == ("AssertionError", "")


def test_advice_alone_is_no_message() -> None:
    advice = "\n\n\nYou can suppress this exception and fall back to eager by setting:\n    import torch._dynamo\n"
    assert failure(Observation(Outcome.RAISE, "AssertionError", advice)).message == ""


def test_the_frame_where_dynamo_raises_everything_tells_nothing() -> None:
    assert failure(RAISED, frame="torch/_dynamo/eval_frame.py:574 compile_wrapper").frame == ""


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.SKIP, Outcome.ERROR])
def test_what_cannot_say_is_no_failure(outcome: Outcome) -> None:
    assert Failure.of(Observation(outcome)) is None
    assert Failure.of({"outcome": str(outcome)}) is None


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a float64 of shape (2, 3), 1e-05 off", "a float64 of shape (N, N), N off"),
        ("<function f at 0x7f1e2c3b4d50> and <function f at 0x...>", "<function f at N> and <function f at N>"),
        ("size s0*s77, u3, arg0_1, primals_12 and tmp3", "size N*N, N, N, N and N"),
        ('assert at "/pytorch/aten/x.h":12, or torch/_dynamo/utils.py', 'assert at "N":N, or torch/_dynamo/utils.py'),
        ("no <cell>/inductor/5k/c5.cpp, no <env>/lib", "no N, no N"),
        ("Backend compiler `inductor` failed; Backend: aot_eager", "Backend compiler failed; Backend:"),
        ("backend='x' raised:\nKeyError: 1", "KeyError: N"),
        ("AssertionError: Node view_2 was invalid, but is output", "AssertionError: Node N was invalid, but is output"),
        ("failed to run FX node with fake tensors", "failed to run FX node with fake tensors"),
        ('said\n\nfrom user code:\n   File "a.py", line 3\n', "said"),
        ('said\n\nSet TORCH_LOGS="+dynamo"', "said"),
    ],
)
def test_normalization(text: str, normal: str) -> None:
    assert normalize(text) == normal


def test_a_summary_is_one_line() -> None:
    assert failure(RAISED).summary == "raise RuntimeError: size N at N"
    assert Failure(Outcome.CRASH, signal="SIGSEGV").summary == "crash SIGSEGV"


def test_entries_document_a_failure() -> None:
    bug = Bug(Outcome.RAISE, error="builtins.RuntimeError", match=r"size \d", frame="a.py")
    assert documents(bug, RAISED)
    assert not documents(replace(bug, match="sizes"), RAISED)
    assert not documents(replace(bug, frame="b.py"), RAISED)
    assert not documents(bug, replace(RAISED, outcome=Outcome.WRONG))


def test_one_documented_bug_in_two_wordings() -> None:
    other = replace(RAISED, error_type="torch.Unsupported", message="no kernel of size 3")
    assert show_one_bug(RAISED, other, [Bug(Outcome.RAISE, match="size 3")])
    # An entry that fixes no text documents any failure with its outcome.
    assert not show_one_bug(RAISED, other, [Bug(Outcome.RAISE)])
    assert not show_one_bug(RAISED, other, [Bug(Outcome.RAISE, match=r"(a+)+$|size 3 at")])
