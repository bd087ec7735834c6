"""`pt2bugs match`: is this traceback a known bug? From the committed journal alone, without torch or network."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.case.observation import shortened
from pt2bugs.case.versions import public_or_empty
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say, warn
from pt2bugs.commands.options import CorpusOptions, ResultsOptions, option
from pt2bugs.errors import InputError
from pt2bugs.match.known import KnownBugs, Recognized
from pt2bugs.results.folder import open_results

MAX_BYTES = 64 * 2**20
_COLLECT_ENV = re.compile(r"^PyTorch version: (\d[\w.]*)", re.MULTILINE)


EXAMPLES = (
    ("pt2bugs match traceback.txt", "the documented bug in a log, and the release that fixes it"),
    ("python train.py 2>&1 | pt2bugs match -", "of a run that just failed"),
)


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions, ResultsOptions):
    """Options of `match`; `file` None or ``-`` is stdin."""

    file: Path | None = option("FILE", parse=Path, help="a traceback or a log; - or none: stdin")
    torch: str | None = option("--torch", metavar="R", help="the release that failed, such as 2.9.1: for the advice")
    json: bool = option("--json", default=False, help="the answers as JSON")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    text, torch = select(options)
    known = KnownBugs.load(open_results(options.results), corpus_roots(options.cases), warn)
    return render(options, query(options, known, text, torch), known, torch)


def select(options: Options) -> tuple[str, str]:
    """Return the text, and the release that failed: the one named, else the one that the text tells.

    Args:
        options: of the command.

    Raises:
        InputError: the text cannot be read, or the release is none.
    """
    torch = public_or_empty(options.torch or "")
    if options.torch and not torch:
        raise InputError(f"--torch {options.torch}: not a release; write for example 2.9.1")
    text = _read(options.file)
    if not torch and (told := _COLLECT_ENV.search(text)):
        torch = public_or_empty(told[1])
    return text, torch


def query(options: Options, known: KnownBugs, text: str, torch: str) -> list[Recognized]:
    """Return the tracebacks of a text with the bugs that they may be.

    Args:
        options: of the command.
        known: the documented bugs.
        text: of a log.
        torch: the release that failed; may be empty.

    Raises:
        InputError: the text has no traceback.
    """
    if recognized := known.recognize(text, torch):
        return recognized
    raise InputError(f"{_name(options.file)}: has no traceback, no error line and no crash; paste more of the output")


def render(options: Options, recognized: Sequence[Recognized], known: KnownBugs, torch: str) -> int:
    """Print the matches of each traceback. Return the exit code.

    Args:
        options: of the command.
        recognized: the tracebacks.
        known: the documented bugs.
        torch: the release that failed; may be empty.
    """
    count, total = sum(traceback.is_known for traceback in recognized), len(recognized)
    if options.json:
        tracebacks = [
            {
                "text": traceback.traceback.text,
                "matches": [known.as_dict(match, torch) for match in traceback.matches],
            }
            for traceback in recognized
        ]
        first = next((traceback["matches"] for traceback in tracebacks if traceback["matches"]), [])
        print_json({"known": count == total, "tracebacks": tracebacks, "matches": first})
    else:
        for number, traceback in enumerate(recognized, 1):
            _print(traceback, known, torch, f"{number} of {total}: " if total > 1 else "")
    say(f"{count} of {total} known" if total > 1 else "known" if count else "not known")
    if count < total:
        say("next: pt2bugs triage SCRIPT, a program that fails so: which layer, since when")
    return OK if count == total else UNEXPECTED


def _print(recognized: Recognized, known: KnownBugs, torch: str, number: str) -> None:
    raised = recognized.traceback.chain[0]
    first = next((line.strip() for line in raised.message.splitlines() if line.strip()), "")
    head = ": ".join(part for part in (recognized.traceback.signal or raised.type, first) if part)
    print(fit(f"{number}{shortened(head, 160)}"))
    for match in recognized.matches:
        told = known.as_dict(match, torch)
        word = "known" if match.is_known else "similar"
        print(fit(f"  {word} ({match.score:.2f}): {match.case.id}  {match.case.title}"))
        where = [
            f"introduced in {told['introduced']}" if told["introduced"] else "",
            f"fixed in {told['fixed']}" if told["fixed"] else "",
            told["fix"] and f"by {told['fix']}",
        ]
        print(fit(f"    {match.case.issue}" + "".join(f", {part}" for part in where if part)))
        print(fit(f"    {told['advice']}"))
        print(f"    {told['reproduce']}")
    if not recognized.matches:
        print("  no known bug")


def _name(file: Path | None) -> str:
    return "stdin" if file is None or str(file) == "-" else str(file)


def _read(file: Path | None) -> str:
    """Return the text of the input; what is no UTF-8 in it is replaced.

    Raises:
        InputError: it cannot be read, is too large, or is empty.
    """
    size = 0
    try:
        if file is None or str(file) == "-":
            # A stream has no size to be told in advance, and may never end: it is read to the bound.
            data = sys.stdin.buffer.read(MAX_BYTES)
            if len(data) == MAX_BYTES:
                warn(f"stdin: only its first {MAX_BYTES >> 20} MiB were read")
        else:
            with file.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                data = b"" if size > MAX_BYTES else stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{_name(file)}: cannot be read: {reason}") from None
    if len(data) > MAX_BYTES or size > MAX_BYTES:
        raise InputError(f"{_name(file)}: is larger than {MAX_BYTES >> 20} MiB; cut out the part that failed")
    if not data.strip():
        raise InputError(f"{_name(file)}: is empty; paste a traceback or a log")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return data.decode(encoding, "replace")
