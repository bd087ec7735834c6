"""Selectors: the cases and checks that a word of the command line names, and the cases whose text has some words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from pt2bugs.case.corpus import Selection
from pt2bugs.case.model import Case, Check
from pt2bugs.case.program import did_you_mean
from pt2bugs.errors import InputError, NothingSelected


def is_path(word: str) -> bool:
    """Return whether a word of the command line is meant as a path, with ``::check`` after it or not.

    Args:
        word: of the command line.
    """
    name = word.partition("::")[0]
    return (
        "://" not in name
        and not _SHORT.fullmatch(name)
        and ("/" in name or name.endswith(".py") or name in (".", ".."))
    )


_SHORT = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)?#(?P<number>\d+)")
"""GitHub's short forms of an issue: ``#163640``, ``pytorch/pytorch#163640``."""


def cases_named(word: str, corpus: Collection[Case]) -> list[Case]:
    """Return the cases that a word of the command line means.

    Args:
        word: an id or a glob, the number or the address of an issue, or a path; after ``::`` a check or a glob
            of checks.
        corpus: all cases.

    Raises:
        InputError: it means none.
    """
    name, colons, check = _split(word)
    if short := _SHORT.fullmatch(name):
        repository, number = short["repository"], short["number"]
        name = f"https://github.com/{repository}/issues/{number}" if repository else number
    if "://" not in name and is_path(word):
        path = Path(name).resolve()
        meant = [case for case in corpus if path in (case.path.resolve(), *case.path.resolve().parents)]
    elif "://" in name:
        meant = [case for case in corpus if _address(name) in (_address(case.issue), _address(case.fix))]
    elif name.isascii() and name.isdigit():
        meant = [c for c in corpus if c.id.rpartition("_")[2] == name or _address(c.issue).endswith(f"/{name}")]
    else:
        meant = [case for case in corpus if Selection((name,)).matches(case)]
    if not meant:
        close = difflib.get_close_matches(name, [case.id for case in corpus], n=1)
        hint = f"; did you mean {close[0]}?" if close else ";"
        lead = "`pt2bugs list` shows all"
        if "://" in name or re.fullmatch(r"(pytorch_)?\d+", name):
            lead = f"`pt2bugs new {name}` makes a case of it, `pt2bugs match FILE` recognizes a traceback"
        elif Path(name).is_dir():
            lead = f"./{name} is the folder"
        raise InputError(f"no case {name!r}{hint} {lead}")
    if not colons:
        return meant
    if "[" in check:
        raise InputError(f"{word}: name a check; its device and backend go to --device and --backend")
    narrowed = [replace(case, checks=checks) for case in meant if (checks := _checks(case, check))]
    if not narrowed:
        names = [check_.name for case in meant for check_ in case.checks]
        raise InputError(f"{word}: no check {check!r}{did_you_mean(check, names)}; there is {', '.join(names)}")
    return narrowed


def _split(word: str) -> tuple[str, str, str]:
    # An address may hold a fragment, and is cut at the last colons.
    name, colons, check = word.rpartition("::")
    return (name, colons, check) if colons else (word, "", "")


def _checks(case: Case, pattern: str) -> tuple[Check, ...]:
    return tuple(check for check in case.checks if fnmatchcase(check.name, pattern))


def _address(url: str) -> str:
    return (
        url.partition("#")[0]
        .partition("?")[0]
        .rstrip("/")
        .lower()
        .replace("://www.", "://")
        .replace("http:", "https:")
        .replace("/pull/", "/issues/")
    )


def with_text(cases: Sequence[Case], queries: Sequence[str]) -> list[Case]:
    """Return the cases whose header or explanation has the words of every query.

    Args:
        cases: to choose from.
        queries: each of one or more words.

    Raises:
        NothingSelected: no case has them.
    """
    left = list(cases)
    for query in queries:
        left = [case for case in left if _has_text(case, query)]
        if not left:
            raise NothingSelected(f"nothing selected: no selected case has the words {query!r}")
    return left


def _has_text(case: Case, query: str) -> bool:
    identities = (f"{bug.error or ''} {bug.match or ''} {bug.frame or ''} {bug.signal or ''}" for bug in case.bugs)
    text = " ".join((case.id, case.title, case.doc, case.issue, case.fix, *case.labels, *identities)).lower()
    # Patterns escape what is no letter.
    plain = text.replace("\\", "")
    return all(word in text or word in plain for word in query.lower().split())
