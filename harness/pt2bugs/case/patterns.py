"""Searches a header's regular expressions, which may be slow beyond all measure, under a deadline.

Python's engine backtracks: ``(a+)+$`` takes minutes on a long message. Patterns that cannot (at most one repetition, of
single characters) are searched here; all others in a helper process that is killed when it takes too long.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import subprocess
import sys
import threading
import time
import warnings
from functools import lru_cache
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as _sre  # type: ignore[attr-defined]
    from re import _parser as _sre_parse
else:
    import sre_constants as _sre
    import sre_parse as _sre_parse

DEADLINE_S = 5.0
"""For one search."""
_FEW = 8
"""A repetition of at most so many is no danger by itself."""

_HELPER = """
import json, re, sys, warnings
warnings.simplefilter("ignore")
for line in sys.stdin:
    pattern, text = json.loads(line)
    print("1" if re.search(pattern, text) else "0", flush=True)
"""


class PatternTimeout(Exception):
    """A regular expression took longer than `DEADLINE_S` on a text.

    Cause: nested repetitions, such as ``(a+)+``, in the `match`, `frame` or `output` of an entry.
    Remedy: rewrite the pattern; the constant part of a message is enough.
    """


@lru_cache(maxsize=65536)
def search(pattern: str, text: str) -> bool:
    """Whether the pattern, which compiles, is found in the text.

    Raises:
        PatternTimeout: it took too long.
    """
    if _is_linear(pattern):
        return _compiled(pattern).search(text) is not None
    return _helper.search(pattern, text)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern)


_MAY_REPEAT = re.compile(r"[*+{]|\\\d|\(\?P=|\(\?\(")


@lru_cache(maxsize=4096)
def _is_linear(pattern: str) -> bool:
    if not _MAY_REPEAT.search(pattern):
        # Most patterns: parsing them a second time costs as much as compiling them.
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = _sre_parse.parse(pattern)
    return _repetitions(tree) <= 1


@lru_cache(maxsize=4096)
def literal_length(pattern: str) -> int:
    """How many characters the pattern fixes in every text that it fits; of alternatives the least."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _literals(_sre_parse.parse(pattern))


def _literals(tree: Any) -> int:
    count = 0
    for operation, argument in tree:
        if operation is _sre.LITERAL:
            count += 1
        elif operation in (_sre.MAX_REPEAT, _sre.MIN_REPEAT, getattr(_sre, "POSSESSIVE_REPEAT", None)):
            least, _, body = argument
            count += least * _literals(body)
        elif operation is _sre.BRANCH:
            count += min(_literals(branch) for branch in argument[1])
        elif operation is _sre.SUBPATTERN:
            count += _literals(argument[-1])
        elif operation is getattr(_sre, "ATOMIC_GROUP", None):
            count += _literals(argument)
    return count


def _repetitions(tree: Any) -> int:
    """How many long repetitions a pattern has; one whose body is no single character counts as many."""
    count = 0
    for operation, argument in tree:
        if operation in (_sre.MAX_REPEAT, _sre.MIN_REPEAT, getattr(_sre, "POSSESSIVE_REPEAT", None)):
            _, most, body = argument
            if most > _FEW:
                is_single = len(body) == 1 and body[0][0] in (_sre.ANY, _sre.LITERAL, _sre.NOT_LITERAL, _sre.IN)
                count += 1 if is_single else 100
            count += _repetitions(body)
        elif operation is _sre.BRANCH:
            count += sum(_repetitions(branch) for branch in argument[1])
        elif operation is _sre.SUBPATTERN:
            count += _repetitions(argument[-1])
        elif operation in (_sre.GROUPREF, _sre.GROUPREF_EXISTS):
            count += 100
        elif operation in (_sre.ASSERT, _sre.ASSERT_NOT):
            count += _repetitions(argument[1])
        elif operation is getattr(_sre, "ATOMIC_GROUP", None):
            count += _repetitions(argument)
    return count


class _Helper:
    """The process that searches; started when first needed, and again after it was killed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._owner = 0

    def search(self, pattern: str, text: str) -> bool:
        with self._lock:
            process = self._start()
            requests, answers = process.stdin, process.stdout
            if requests is None or answers is None:
                raise RuntimeError("the pattern helper was started without pipes")
            try:
                requests.write(json.dumps([pattern, text]).encode() + b"\n")
                requests.flush()
                answer = self._read(answers.fileno())
            except BaseException:
                self.stop()
                raise
            return answer == b"1"

    def _start(self) -> subprocess.Popen[bytes]:
        # After a fork the pipe belongs to the parent.
        if self._process is None or self._owner != os.getpid():
            command = [sys.executable, "-I", "-S", "-c", _HELPER]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._owner = os.getpid()
            atexit.register(self.stop)
        return self._process

    @staticmethod
    def _read(fd: int) -> bytes:
        deadline = time.monotonic() + DEADLINE_S
        data = b""
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(fd, 16) if ready else b""
            if not chunk:
                raise PatternTimeout
            data += chunk
        return data.strip()

    def stop(self) -> None:
        """End the process, if it is ours."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()


_helper = _Helper()
