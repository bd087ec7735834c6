"""Any text is answered in bounded time: each shape that once took minutes, 64 MB of it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from pt2bugs.match.tracebacks import MAX_LINES, MAX_TEXT, _bounded, find_tracebacks
from pt2bugs.match.wording import own_message, words_of

SIZE = 64_000_000
SECONDS = 10.0
CAUSE = "\n\nThe above exception was the direct cause of the following exception:\n\n"
ERROR = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: {}'

SHAPES: dict[str, Callable[[], str]] = {
    "one long word": lambda: "x" * SIZE,
    "a word of slashes": lambda: "a/" * (SIZE // 2),
    "ten million lines": lambda: "abcde\n" * (SIZE // 6),
    "empty lines": lambda: "\n" * SIZE,
    "carriage returns": lambda: "\r" * SIZE,
    "blanks": lambda: " " * SIZE,
    "backquotes": lambda: "`" * SIZE,
    "escapes": lambda: "\x1b]" * (SIZE // 2),
    "chained exceptions": lambda: CAUSE.join(ERROR.format(number) for number in range(500_000)),
    "headers alone": lambda: "Traceback (most recent call last):\n" * (SIZE // 35),
    "frames alone": lambda: '  File "a.py", line 1, in f\n' * (SIZE // 28),
    "errors alone": lambda: "ValueError: no\n" * (SIZE // 15),
    "pytest's lines": lambda: "E   ValueError: no\n" * (SIZE // 19),
    "a message of one word": lambda: f"ValueError: {'x' * SIZE}",
    "a message of brackets": lambda: f"ValueError: {'L[' * (SIZE // 2)}",
    "a message of empty lines": lambda: f"{ERROR.format('no')}\n{' ' * 50_000}\n" + "\n" * SIZE,
    "times": lambda: "2026-01-01 10:00:00,000 " * (SIZE // 24),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_64_megabytes_of_anything(shape: str) -> None:
    text = SHAPES[shape]()
    began = time.process_time()
    for traceback in find_tracebacks(text)[:60]:
        for raised in traceback.chain:
            own_message(raised.message)
            words_of(raised.message)
    assert time.process_time() - began < SECONDS


def test_what_is_cut_out_is_not_the_failure() -> None:
    """In a log that is too large, the first and the last failure are read."""
    noise = "step 1 of many\n" * (MAX_TEXT // 10)
    text = f"{noise}{ERROR.format('first')}\n{noise}{ERROR.format('last')}\n"
    assert len(_bounded(text)) <= MAX_TEXT
    assert _bounded(text).count("\n") <= MAX_LINES
    assert [traceback.chain[0].message.split()[0] for traceback in find_tracebacks(text)] == ["first", "last"]


def test_a_short_text_is_read_as_it_is() -> None:
    assert _bounded("a\nb") == "a\nb"


def test_both_ends_of_a_long_chain_are_read() -> None:
    text = CAUSE.join(ERROR.format(number) for number in range(100))
    (traceback,) = find_tracebacks(text)
    messages = [raised.message for raised in traceback.chain]
    assert (messages[0], messages[-1], len(messages)) == ("99", "0", 16)


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_the_underlines_of_each_python(python: str) -> None:
    """Python 3.11 to 3.13 underline the failing call with tildes and carets; 3.14 and 3.10 print other lines."""
    below = {
        "3.10": "",
        "3.11": "    ~^^^\n",
        "3.12": "    ~~~~^^^\n",
        "3.13": "    ~~~~~~~~^^^\n",
        "3.14": "    ~~~~~~~~~~^^^^^^^^\n    <3 lines>...\n    ~~~~~~~~\n",
    }[python]
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 9, in <module>\n    main()\n'
        f'{below}  File "a.py", line 3, in main\n    f(x)\n{below}ValueError: no\n'
    )
    (traceback,) = find_tracebacks(text)
    assert (traceback.chain[0].type, traceback.chain[0].message) == ("ValueError", "no")
    assert [frame.line for frame in traceback.chain[0].frames] == [3, 9]


def test_a_fence_of_tildes_ends_a_message() -> None:
    (traceback,) = find_tracebacks(f"~~~\n{ERROR.format('no')}\n~~~\nthat is all\n")
    assert traceback.chain[0].message == "no"
