"""The assertions that `pt2bugs new` writes: their messages are not those of any other failure."""

from __future__ import annotations

import pytest
from pt2bugs.curate.assertions import with_messages


@pytest.mark.parametrize(
    ("assertion", "written"),
    [
        ("assert torch.equal(a, b)", "torch.testing.assert_close(a, b, rtol=0, atol=0)"),
        ("assert a.allclose(b, atol=1e-3)", "torch.testing.assert_close(a, b, rtol=1e-05, atol=0.001)"),
        ("assert np.allclose(a, b)", "assert np.allclose(a, b), 'np.allclose(a, b) is false'"),
        ("assert not torch.equal(a, b)", "assert not torch.equal(a, b), 'not torch.equal(a, b) is false'"),
        ("assert a == 3", "assert a == 3, f'a == 3 is false: {a}'"),
        ("assert a is b", "assert a is b, f'a is b is false: {a} and {b}'"),
        ("assert f(a) < 2", "actual = f(a)\nassert actual < 2, f'f(a) < 2 is false: {actual}'"),
        (
            "assert g(a) == f(a)",
            "actual = g(a)\nexpected = f(a)\n"
            "assert actual == expected, f'g(a) == f(a) is false: {actual} and {expected}'",
        ),
        ("assert a[0]['x'] == 1", "assert a[0]['x'] == 1, f\"a[0]['x'] == 1 is false: {a[0]['x']}\""),
        ("if a:\n    assert b", "if a:\n    assert b, 'b is false'"),
    ],
)
def test_what_was_seen_is_told(assertion: str, written: str) -> None:
    assert with_messages(assertion, {"a", "b"}) == written


@pytest.mark.parametrize("text", ["assert a, 'told'", "def f():\n    assert a", "x  =  1"])
def test_what_tells_already_and_what_is_compiled_stays(text: str) -> None:
    assert with_messages(text, ()) == text


def test_names_that_are_taken_are_not_bound_anew() -> None:
    assert with_messages("assert f(1) == 2", {"actual"}) == "assert f(1) == 2, 'f(1) == 2 is false'"
