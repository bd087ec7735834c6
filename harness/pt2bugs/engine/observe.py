"""An exception as an `Observation`: its type, message, torch frames, and whose fault it is.

An exception of a check may define ``__str__``, ``__class__``, ``__cause__`` or a metaclass that raises or lies. So its
parts are read with the methods of the built-in types.
"""

from __future__ import annotations

import errno
import os
import re
import textwrap
import traceback
import unittest
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from pt2bugs.case.observation import (
    FRAME_LIMIT,
    MAX_FRAMES,
    MAX_TIMEOUT_FRAMES,
    RAW_LIMIT,
    TYPE_LIMIT,
    Observation,
    bounded,
    without_line,
)
from pt2bugs.case.stack_dump import is_outside_torch
from pt2bugs.case.vocabulary import Outcome

_MAX_CAUSES = 100
_STDLIB = os.path.dirname(os.__file__)  # noqa: PTH120
_NO_SPACE = "No space left on device"
_NO_MEMORY = re.compile(
    r"(\[enforce fail at alloc_cpu\.cpp:\d+\][^\n]*)?DefaultCPUAllocator: (can't allocate|not enough) memory"
    r"|std::bad_alloc\s*$"
    r"|\w+ out of memory\. Tried to allocate"
)
_mro: Any = type.__dict__["__mro__"]
_cause: Any = BaseException.__dict__["__cause__"]
_context: Any = BaseException.__dict__["__context__"]
_errno: Any = OSError.__dict__["errno"]
_traceback: Any = BaseException.__dict__["__traceback__"]


class CheckTimeout(BaseException):
    """Raised in a check when its time is over; BaseException, so that few catch it."""


def observe_exception(error: BaseException, path: str) -> Observation:
    """Return the outcome and identity of an exception that left a check of the file `path`.

    Args:
        error: that left the check.
        path: of the case file.
    """
    frames = _frames_of(error)
    message = bounded(text_of(error), RAW_LIMIT)
    seen = Observation(_classify(error, message, frames, path), type_name(type(error)), message)
    # The exception of a backend arrives wrapped.
    seen.outside = _outside_frame(frames, path) or _outside_frame(_frames_of(root_of(error)), path)
    inside = _torch_frames(frames)
    if inside:
        seen.frame, further = inside[0], inside[1:]
        if seen.outcome is Outcome.TIMEOUT:
            # The timer may fire anywhere, also while another exception is handled, whose frames then say nothing. What
            # the check was doing stands further out, below many calls of itself.
            seen.frames = _once_each(further, but=seen.frame)[: MAX_TIMEOUT_FRAMES - 1]
            return seen
        if not message.strip() and (cause := root_of(error)) is not error:
            # torch 2.0 raises InternalTorchDynamoError without a word: only the cause tells one failure from another.
            further = _torch_frames(_frames_of(cause))
        seen.frames = further[: MAX_FRAMES - 1]
    return seen


def _once_each(frames: list[str], but: str) -> list[str]:
    """Return each function once, at its innermost frame."""
    innermost = {without_line(but): but}
    for frame in frames:
        innermost.setdefault(without_line(frame), frame)
    return list(innermost.values())[1:]


def _torch_frames(frames: list[tuple[str, int, str]]) -> list[str]:
    """Return those inside torch, the innermost first."""
    return [
        _in_one_line(f"{inside}:{line} {function}", FRAME_LIMIT)
        for file, line, function in reversed(frames)
        if (inside := inside_torch(file))
    ]


def _outside_frame(frames: list[tuple[str, int, str]], path: str) -> str:
    """Return the innermost frame in a package that is not torch's, below those of the check; empty if there is none."""
    ours = [index for index, (file, _, _) in enumerate(frames) if file == path]
    for file, line, function in reversed(frames[ours[0] + 1 :] if ours else frames):
        if file != path and (inside := _in_package(file)) and is_outside_torch(inside):
            return _in_one_line(f"{inside}:{line} {function}", FRAME_LIMIT)
    return ""


def _in_package(filename: str) -> str:
    """Return the path of a file from its package on, as far as a path tells; empty for Python's own files and ours."""
    path = filename.replace("\\", "/")
    installed = re.split(r"/(?:site|dist)-packages/", path)
    if len(installed) > 1:
        return installed[-1]
    if path.startswith(("<", f"{_STDLIB}/")) or "/pt2bugs/" in path or "/torch/" in path:
        return ""
    return "/".join(path.rsplit("/", 2)[1:])


def _frames_of(error: BaseException) -> list[tuple[str, int, str]]:
    try:
        return _frames(_traceback.__get__(error))
    except BaseException:
        # An audit hook that the check has left may forbid to look at frames.
        return []


def _classify(error: BaseException, message: str, frames: list[tuple[str, int, str]], path: str) -> Outcome:
    if _is_a(error, CheckTimeout):
        return Outcome.TIMEOUT
    if _is_a(error, unittest.SkipTest) or type_name(type(error)) in ("Skipped", "_pytest.outcomes.Skipped"):
        return Outcome.SKIP
    if _NO_SPACE in message or any(
        _is_a(cause, OSError) and _errno.__get__(cause) in (errno.ENOSPC, errno.EDQUOT) for cause in _chain(error)
    ):
        return Outcome.ERROR
    if (
        _is_a(error, MemoryError)
        or type_name(type(error)).rpartition(".")[2] == "OutOfMemoryError"
        or (_is_a(error, RuntimeError) and _NO_MEMORY.match(message))
    ):
        return Outcome.OOM
    if _is_a(error, AssertionError):
        # Frames of torch below the last frame of the case file mean that torch asserted, and not the check.
        ours = [index for index, (file, _, _) in enumerate(frames) if file == path]
        below = frames[ours[-1] + 1 :] if ours else frames
        if ours and not any(inside_torch(file) for file, _, _ in below):
            return Outcome.WRONG
    return Outcome.RAISE


def _is_a(error: BaseException, kind: type[BaseException]) -> bool:
    """Return whether the exception is of that type; not by its ``__class__``, which may be anything."""
    return kind in _mro.__get__(type(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and what it came from; at most `_MAX_CAUSES`, as exceptions can be their own cause."""
    following: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if following is None:
            return
        yield following
        following = _cause.__get__(following) or _context.__get__(following)


def timeout_in(error: BaseException) -> BaseException | None:
    """Return the `CheckTimeout` that an exception came from: torch 2.9.0 raises another one on its way out.

    Args:
        error: that left the check.
    """
    return next((cause for cause in _chain(error) if _is_a(cause, CheckTimeout)), None)


def root_of(error: BaseException) -> BaseException:
    """Return the innermost cause.

    Args:
        error: the outermost exception.
    """
    *_, root = _chain(error)
    return root


def _frames(tb: TracebackType | None) -> list[tuple[str, int, str]]:
    return [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in traceback.walk_tb(tb)]


def inside_torch(filename: str) -> str:
    """Return the part of a torch file's path from ``torch/`` on; empty for other files and for torch.testing.

    Args:
        filename: as a frame names it.
    """
    _, folder, rest = filename.replace("\\", "/").rpartition("/torch/")
    return f"torch/{rest}" if folder and not rest.startswith("testing/") else ""


def type_name(cls: type) -> str:
    """Return the dotted name of a type, bounded and printable; built-in types bare.

    Args:
        cls: any class, also one with a metaclass that lies.
    """
    try:
        module, name = cls.__module__, cls.__qualname__
        if not (issubclass(type(module), str) and issubclass(type(name), str)):
            raise TypeError  # noqa: TRY301
    except BaseException:
        # A metaclass may answer wrongly, so type's own attributes are read.
        module, name = type.__dict__["__module__"].__get__(cls), type.__dict__["__name__"].__get__(cls)
        if not issubclass(type(module), str):
            # A class body may say anything.
            module = "builtins"
    name = _in_one_line(f"{str.__str__(name)}", TYPE_LIMIT)
    module = _in_one_line(f"{str.__str__(module)}", TYPE_LIMIT)
    return name if module == "builtins" else f"{module}.{name}"


def _in_one_line(text: str, limit: int) -> str:
    line = " ".join(bounded(text[: 2 * limit], limit).split())
    # What cannot be printed takes several characters each.
    return line if len(line) <= limit + 60 else f"{line[:limit]} ..."


def text_of(error: BaseException) -> str:
    """Return the message, or which exception ``str()`` raised.

    Args:
        error: of any class, also one whose methods raise.
    """
    try:
        return str.__str__(str(error))
    except BaseException as second:
        return f"<str() of the exception raised {type_name(type(second))}>"


def render(error: BaseException, without: str = "") -> str:
    """Return the traceback as text, bounded, also for exceptions that cannot be printed.

    Args:
        error: that left the check.
        without: a file whose frames are left out.
    """
    try:
        told: Any = traceback.TracebackException.from_exception(error, limit=-30, compact=True)
        todo = [told] if without else []
        while todo:
            summary = todo.pop()
            summary.stack[:] = [frame for frame in summary.stack if frame.filename != without]
            todo += [other for other in (summary.__cause__, summary.__context__) if other is not None]
        text = "".join(bounded(line, RAW_LIMIT // 4) for line in told.format())
    except BaseException:
        text = f"{type_name(type(error))}: {text_of(error)}"
    return bounded(text, RAW_LIMIT)


def _bare_name(error: BaseException) -> str:
    return type_name(type(error)).rpartition(".")[2]


def in_one_line(error: BaseException) -> str:
    """Return the error and its innermost cause: wrappers hide which package is missing.

    Args:
        error: of an import or a compile.
    """
    cause = root_of(error)
    own = _shortened(text_of(error), 600)
    message = f"{_bare_name(error)}: {own}"
    if cause is not error and (root := _shortened(text_of(cause), 300)) not in own:
        message += f" (caused by {_bare_name(cause)}: {root})"
    return bounded(message, RAW_LIMIT)


def _shortened(text: str, width: int) -> str:
    """Return it as one line, cut between words: half a path could not be told from other text."""
    return textwrap.shorten(text[:RAW_LIMIT], width, placeholder=" ...")
