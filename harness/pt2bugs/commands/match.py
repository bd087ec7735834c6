"""`pt2bugs match`: is this traceback a known bug? From the committed journal alone, without torch or network."""

from __future__ import annotations

import argparse
import gc
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import cut, print_json, say, warn
from pt2bugs.commands.options import ResultsOptions, add_results
from pt2bugs.commands.selection import corpus_roots, open_results
from pt2bugs.errors import InputError
from pt2bugs.triage.answer import KnownBugs, Recognized, update_table

MAX_BYTES = 64 * 2**20
_COLLECT_ENV = re.compile(r"^PyTorch version: (\d[\w.]*)", re.MULTILINE)


EXAMPLES = (
    ("pt2bugs match traceback.txt", "the documented bug in a log, and the release that fixes it"),
    ("python train.py 2>&1 | pt2bugs match -", "of a run that just failed"),
    ("pt2bugs match --update-signatures", "write results/signatures.json anew from the journal; commit it"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ResultsOptions):
    """What the command takes; `file` None or ``-`` is stdin."""

    file: Path | None = None
    torch: str | None = None
    cases: Sequence[Path] = ()
    update_signatures: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a traceback or a log; - or none: stdin")
    parser.add_argument("--torch", metavar="R", help="the release that failed, such as 2.9.1: for the advice")
    parser.add_argument("--cases", action="append", default=[], type=Path, metavar="DIR", help="another corpus")
    add_results(parser)
    parser.add_argument(
        "--update-signatures", action="store_true", help="write the table of signatures anew from the journal, and end"
    )
    parser.add_argument("--json", action="store_true", help="the answers as JSON")


def run(options: Options) -> int:
    if options.update_signatures:
        say(f"{update_table(open_results(options), corpus_roots(options.cases), warn)} written")
        return OK
    torch = _release(options.torch)
    text = _read(options.file)
    if not torch and (told := _COLLECT_ENV.search(text)):
        torch = _public(told[1])
    known = _known_bugs(options)
    found = known.recognize(text, torch)
    if not found:
        raise InputError(
            f"{_name(options.file)}: has no traceback, no error line and no crash; paste more of the output"
        )
    is_known = all(one.is_known for one in found)
    if options.json:
        _print_json(found, known, torch, is_known=is_known)
    else:
        for number, one in enumerate(found, 1):
            _print(one, known, torch, f"{number} of {len(found)}: " if len(found) > 1 else "")
    count = sum(one.is_known for one in found)
    say(f"{count} of {len(found)} known" if len(found) > 1 else "known" if count else "not known")
    return OK if is_known else UNEXPECTED


def _known_bugs(options: Options) -> KnownBugs:
    # Everything made here stays until the answer: collecting garbage meanwhile costs a fifth of the time.
    gc.disable()
    try:
        return KnownBugs.load(open_results(options), corpus_roots(options.cases), warn)
    finally:
        gc.enable()


def _print_json(found: Sequence[Recognized], known: KnownBugs, torch: str, *, is_known: bool) -> None:
    tracebacks = [
        {"text": one.failure.text, "matches": [known.as_dict(match, torch) for match in one.matches]} for one in found
    ]
    first = next((one["matches"] for one in tracebacks if one["matches"]), [])
    print_json({"known": is_known, "tracebacks": tracebacks, "matches": first})


def _print(one: Recognized, known: KnownBugs, torch: str, number: str) -> None:
    raised = one.failure.chain[0]
    first = next((line.strip() for line in raised.message.splitlines() if line.strip()), "")
    head = ": ".join(part for part in (one.failure.signal or raised.type, first) if part)
    print(cut(f"{number}{head[:160]}"))
    for match in one.matches:
        told = known.as_dict(match, torch)
        word = "known" if match.is_known else "similar"
        print(cut(f"  {word} ({match.score:.2f}): {match.case.id}  {match.case.title}"))
        where = [
            f"introduced in {told['introduced']}" if told["introduced"] else "",
            f"fixed in {told['fixed']}" if told["fixed"] else "",
            told["fix"] and f"by {told['fix']}",
        ]
        print(f"    {match.case.issue}" + "".join(f", {part}" for part in where if part))
        print(f"    {told['advice']}")
        print(f"    {told['reproduce']}")
    if not one.matches:
        print("  no known bug")


def _release(text: str | None) -> str:
    if not text:
        return ""
    try:
        return Version(text).public
    except InvalidVersion:
        raise InputError(f"--torch {text}: not a release; write for example 2.9.1") from None


def _public(text: str) -> str:
    try:
        return Version(text).public
    except InvalidVersion:
        return ""


def _name(file: Path | None) -> str:
    return "stdin" if file is None or str(file) == "-" else str(file)


def _read(file: Path | None) -> str:
    """The text of the input; what is no UTF-8 in it is replaced.

    Raises:
        InputError: it cannot be read, is too large, or is empty.
    """
    try:
        if file is None or str(file) == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{_name(file)}: cannot be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{_name(file)}: is larger than {MAX_BYTES >> 20} MiB; cut out the part that failed")
    if not data.strip():
        raise InputError(f"{_name(file)}: is empty; paste a traceback or a log")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return data.decode(encoding, "replace")
