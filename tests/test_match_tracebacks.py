"""What people paste: the failures in it, whoever printed them and whatever stands around them."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from pt2bugs.match.tracebacks import Traceback, find_tracebacks

PLAIN = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 9, in <module>
    step(x)
    ^^^^^^^
  File "/venv/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py", line 655, in _fn
    raise e.with_traceback(None) from e.__cause__
torch._dynamo.exc.Unsupported: frobnicate is not supported
  Explanation: nobody wrote it

from user code:
   File "/home/me/train.py", line 4, in step
    return frobnicate(x)

Set TORCH_LOGS="+dynamo" for more"""
CAUSED = """\
Traceback (most recent call last):
  File "/venv/site-packages/torch/_inductor/lowering.py", line 7, in glorp
    1 / 0
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "train.py", line 9, in <module>
    step(x)
torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
ZeroDivisionError: division by zero"""


def only(text: str) -> Traceback:
    (failure,) = find_tracebacks(text)
    return failure


def test_python() -> None:
    failure = only(PLAIN)
    (raised,) = failure.chain
    assert raised.type == "torch._dynamo.exc.Unsupported"
    assert raised.message.startswith("frobnicate is not supported\n  Explanation")
    assert raised.message.endswith('Set TORCH_LOGS="+dynamo" for more')
    assert [frame.function for frame in raised.frames] == ["_fn", "<module>"]
    assert raised.frames[0].place == "torch/_dynamo/eval_frame.py:655 _fn"
    assert raised.frames[1].code == "step(x)"
    assert failure.text == PLAIN


def test_a_chain_is_one_failure() -> None:
    failure = only(CAUSED)
    assert [raised.type for raised in failure.chain] == ["torch._dynamo.exc.BackendCompilerFailed", "ZeroDivisionError"]
    assert failure.chain[1].frames[0].place == "torch/_inductor/lowering.py:7 glorp"


def each(text: str, before: str) -> str:
    return "\n".join(f"{before}{line}" for line in text.split("\n"))


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        each(PLAIN, "> "),
        each(PLAIN, "> > "),
        each(PLAIN, "2026-01-05T10:11:13.1234567Z "),
        each(PLAIN, "[rank0]: "),
        each(PLAIN, "2026-01-05T10:11:13.1234567Z [rank3]: "),
        each(PLAIN, "E0105 10:11:12.123456 4711 torch/elastic/api.py:12] "),
        each(PLAIN, "worker-7 stderr ~ "),
        each(PLAIN, "\x1b[31m"),
        each(PLAIN, "\u202e"),
        f"some talk\n```\n{PLAIN}\n```\nwhat now?\n",
        f"$ python train.py\n{PLAIN}\n$ echo $?\n1\n",
        f"2026-01-05 10:11:12,123 ERROR root: {PLAIN}\n2026-01-05 10:11:14,500 INFO trainer: epoch 2\n",
        f"2026-01-05 10:11:12,123 - trainer - ERROR - failed\n{PLAIN}",
        PLAIN.partition("\n")[2],  # cut off above
    ],
)  # fmt: skip
def test_what_stands_around_it(text: str) -> None:
    (raised,) = only(text).chain
    (expected,) = only(PLAIN).chain
    assert raised == expected


def test_a_traceback_that_was_pasted_indented() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "mine.py", line 3, in f',
        "    g()",
        "ValueError: no",
        "",
        "end",
    ]
    (traceback,) = find_tracebacks("It fails:\n" + "\n".join(f"     {line}" for line in lines))
    assert (traceback.chain[0].type, traceback.chain[0].frames[0].function) == ("ValueError", "f")
    (traceback,) = find_tracebacks("\n".join(f"   {line}" for line in lines[1:4]))
    assert (traceback.chain[0].type, traceback.chain[0].message) == ("ValueError", "no")


def test_an_error_in_a_sentence() -> None:
    (traceback,) = find_tracebacks("On main it now raises `RuntimeError: it's too small`, which is better.\n")
    assert (traceback.chain[0].type, traceback.chain[0].message) == ("RuntimeError", "it's too small")
    assert not find_tracebacks("It calls `torch.add` and `x: int`.\n")


def test_a_message_that_goes_on_with_its_cause() -> None:
    cause = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nx.SerializeError: no complex\n'
    (traceback,) = find_tracebacks(
        f"before\nx.SerializeError: Failed serializing node mul\n Original exception {cause}"
    )
    assert [raised.message for raised in traceback.chain] == ["Failed serializing node mul", "no complex"]
    assert traceback.before == "before"
    assert len(find_tracebacks(f"x.SerializeError: Failed serializing node mul\n{cause}")) == 2


def test_ranks_write_at_once() -> None:
    lines = [(f"[rank{n}]: {line}") for line in PLAIN.split("\n") for n in (0, 1)]
    first, second = find_tracebacks("\n".join(lines))
    assert first.chain == second.chain == only(PLAIN).chain


def test_several_in_one_file() -> None:
    tracebacks = find_tracebacks(
        f"{PLAIN}\n\n=== next ===\n{CAUSED}\nother talk follows\n```\nSegmentation fault (core dumped)\n"
    )
    assert [(traceback.chain[0].type, traceback.signal) for traceback in tracebacks] == [
        ("torch._dynamo.exc.Unsupported", ""),
        ("torch._dynamo.exc.BackendCompilerFailed", ""),
        ("", "SIGSEGV"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "torch._dynamo.exc.Unsupported: frobnicate is not supported",
        "Unsupported: frobnicate is not supported",
        "    RuntimeError: frobnicate is not supported",
    ],
)
def test_the_last_line_alone(line: str) -> None:
    (raised,) = only(f"I get this:\n\n{line}\n").chain
    assert raised.type == line.strip().partition(":")[0]
    assert raised.message == "frobnicate is not supported"


NOTEBOOK = """\
---------------------------------------------------------------------------
BackendCompilerFailed                     Traceback (most recent call last)
Cell In[3], line 4
      2 f = torch.compile(g)
----> 4 f(x)

File ~/venv/site-packages/torch/_dynamo/eval_frame.py:655, in _TorchDynamoContext.__call__.<locals>._fn(*args, **kwargs)
    654 try:
--> 655     return fn(*args, **kwargs)

File ~/venv/lib/python3.11/site-packages/torch/_inductor/lowering.py:7, in glorp(x)
      6 def glorp(x):
----> 7     1 / 0

BackendCompilerFailed: backend='inductor' raised:
ZeroDivisionError: division by zero"""


def test_notebooks() -> None:
    (raised,) = only(NOTEBOOK).chain
    assert raised.type == "BackendCompilerFailed"
    assert raised.message.endswith("division by zero")
    assert [frame.place for frame in raised.frames][:2] == [
        "torch/_inductor/lowering.py:7 glorp",
        "torch/_dynamo/eval_frame.py:655 _fn",
    ]


@pytest.mark.parametrize("style", ["long", "short", "native"])
def test_pytest(tmp_path: Path, style: str) -> None:
    library = tmp_path / "site-packages" / "torch" / "_inductor"
    library.mkdir(parents=True)
    (library / "frob.py").write_text("def glorp(x):\n    raise RuntimeError('glorp of\\n  two lines')\n")
    (tmp_path / "test_it.py").write_text(
        "import sys\nfrom pathlib import Path\n"
        "sys.path.insert(0, str(Path(__file__).parent / 'site-packages' / 'torch' / '_inductor'))\n"
        "import frob\n\ndef test_a():\n    frob.glorp(1)\n\ndef test_b():\n    assert 4 == 3\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--tb={style}", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    first, second = find_tracebacks(done.stdout)
    assert (first.chain[0].type, first.chain[0].message) == ("RuntimeError", "glorp of\n  two lines")
    assert first.frames[0].place == "torch/_inductor/frob.py:2 glorp"
    assert second.chain[0].type == "AssertionError"


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("Segmentation fault (core dumped)", "SIGSEGV"),
        ("bash: line 1: 4711 Floating point exception(core dumped) python x.py", "SIGFPE"),
        ("free(): invalid pointer\nAborted (core dumped)", "SIGABRT"),
        ("terminate called after throwing an instance of 'c10::Error'\n  what():  no\nAborted", "SIGABRT"),
        ("Process finished with exit code 139", "SIGSEGV"),
        ("double free or corruption (out)", "SIGABRT"),
        ("Trace/breakpoint trap (core dumped)", "SIGTRAP"),
    ],
)
def test_native_crashes(text: str, signal: str) -> None:
    assert only(f"epoch 1\n{text}\n").signal == signal


def test_faulthandler() -> None:
    program = "import ctypes, faulthandler\nfaulthandler.enable()\ndef boom():\n    ctypes.string_at(0)\nboom()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    failure = only(f"{done.stderr}\nSegmentation fault (core dumped)\n")
    assert failure.signal == "SIGSEGV"
    assert [frame.function for frame in failure.frames][-2:] == ["boom", "<module>"]


def _raise_from_a_cause() -> None:
    try:
        dict[str, int]()["a"]
    except KeyError as error:
        raise RuntimeError("b\n\nc") from error


def test_real_chains() -> None:
    """What Python prints here and now: a cause, and a message of several lines."""
    with pytest.raises(RuntimeError) as caught:
        _raise_from_a_cause()
    text = "".join(traceback.format_exception(caught.type, caught.value, caught.tb))
    assert [(raised.type, raised.message) for raised in only(text).chain] == [
        ("RuntimeError", "b\n\nc"),
        ("KeyError", "'a'"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "everything is fine\n",
        "FAILED tests/test_a.py::test_b - RuntimeError: no\n",
        "    def helper(x):\n        return x\n",
        "the segmentation of images; aborted by the user",
        "",
    ],
)
def test_no_failure(text: str) -> None:
    assert find_tracebacks(text) == []


def test_a_long_log_takes_linear_time() -> None:
    """Quadratic work on this would take minutes, and the test's own limit would end it."""
    log = "    def f(x):\nsome line: with words\n" * 5_000
    assert len(find_tracebacks(f"{log}{PLAIN}\n")) == 1
