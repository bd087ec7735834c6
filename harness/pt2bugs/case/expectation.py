"""What a case expects of a cell, and what an observation means against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.patterns import PatternTimeout, search
from pt2bugs.case.words import FAILURES, Outcome, Verdict


@dataclass(frozen=True)
class Where:
    """The environment, device and backend of a cell, as far as expectations depend on them.

    `torch` and `python` are public versions, such as ``2.13.0`` and ``3.11.7``; `platform` is the name that Python
    gives the machine, `capability` torch's word for its vector instructions. Empty where they are not known.
    """

    torch: str
    python: str
    device: str
    backend: str
    platform: str = ""
    capability: str = ""


@dataclass(frozen=True)
class Judgement:
    """The verdict, and a sentence that says why: or what makes it, as most are judged for the verdict alone."""

    verdict: Verdict
    explanation: str | Callable[[], str]
    bug: Bug | None = None

    @property
    def reason(self) -> str:
        """Why."""
        return self.explanation if isinstance(self.explanation, str) else self.explanation()


@lru_cache(maxsize=4096)
def public(version: str) -> str:
    """The public part of a version: ``2.13.0`` for ``2.13.0+cpu``."""
    return Version(version).public


@lru_cache(maxsize=65536)
def _contains(specifiers: str, version: str) -> bool:
    # Nightlies and release candidates are releases like any other here.
    return SpecifierSet(specifiers).contains(version, prereleases=True)


def is_available(case: Case, torch: str) -> bool:
    """Whether the API of the case exists in that release (``requires-torch``)."""
    return _contains(str(case.requires_torch), torch)


def applies(bug: Bug, check: str, where: Where) -> bool:
    """Whether the entry speaks of this cell, its backend left aside."""
    return (
        bug.check in (None, check)
        and bug.device in (None, where.device)
        and (not bug.torch_text or _contains(bug.torch_text, where.torch))
        and (not bug.python_text or _contains(bug.python_text, where.python))
    )


def speaks_of_device(case: Case, device: str) -> bool:
    """Whether the entries say what is expected on a device.

    They are measured on the CPU first. Of another device that the header names they say nothing until one of them names
    it: there it is not known whether the bug is present, and what it looks like.
    """
    return device == "cpu" or "cpu" not in case.devices or any(bug.device == device for bug in case.bugs)


def expected_bug(case: Case, check: str, where: Where) -> Bug | None:
    """The first entry that applies; None where the check is expected to pass.

    Entries speak of the backends the header names. A backend it does not name (a vendor's own, or
    ``aot_eager`` to see which layer has the bug) is expected to pass, and so is a device that no entry speaks of.
    """
    if where.backend not in case.backends or not speaks_of_device(case, where.device):
        return None
    for bug in case.bugs:
        if bug.backend in (None, where.backend) and applies(bug, check, where):
            return bug
    return None


def has_identity(bug: Bug, seen: Observation) -> bool:
    """Whether the failure seen is the documented one.

    Raises:
        PatternTimeout: a pattern of the entry takes too long on what was seen.
    """
    return (
        seen.outcome == bug.outcome
        and (bug.error is None or bug.error.removeprefix("builtins.") == seen.error_type)
        and (bug.signal is None or bug.signal == seen.signal)
        and (bug.match is None or search(bug.match, seen.message))
        and (bug.frame is None or search(bug.frame, seen.all_frames))
        and (bug.output is None or search(bug.output, seen.output_tail))
    )


_CAPABILITIES = ("default", "avx2", "avx512")
"""Vector instructions of x86, each with those before it."""


def shows_there(bug: Bug, where: Where) -> bool:
    """Whether the machine is one that the entry's `platform` speaks of; an unknown machine is taken for one."""
    if bug.platform is None or not where.platform:
        return True
    asked, capability = bug.platform.lower(), where.capability.lower()
    if asked in _CAPABILITIES:
        return capability in _CAPABILITIES[_CAPABILITIES.index(asked) :]
    return asked == capability or asked in where.platform.lower().split("-")


def elsewhere(case: Case, check: str, where: Where) -> str:
    """Why the check has nothing to show on this machine; empty if it may."""
    bug = expected_bug(case, check, where)
    return "" if bug is None or shows_there(bug, where) else f"the bug shows only on {bug.platform}"


def judge(case: Case, check: str, where: Where, seen: Observation) -> Judgement:
    """The verdict on what was seen in one cell."""
    try:
        return _judge(case, check, where, seen)
    except PatternTimeout:
        lines = ", ".join(str(bug.line) for bug in case.bugs if bug.match or bug.frame or bug.output)
        problem = "a pattern takes too long on what was seen; rewrite it without repetitions inside repetitions"
        return Judgement(Verdict.ERROR, f"{case.path.name}: entries in lines {lines}: {problem}")


def _judge(case: Case, check: str, where: Where, seen: Observation) -> Judgement:
    if seen.outcome is Outcome.SKIP:
        return Judgement(Verdict.SKIP, seen.message)
    if seen.outcome is Outcome.ERROR:
        return Judgement(Verdict.ERROR, seen.message)
    bug = expected_bug(case, check, where)
    if bug is not None and not shows_there(bug, where):
        return Judgement(Verdict.SKIP, f"the bug shows only on {bug.platform}", bug)
    if bug is None:
        return _judge_unlisted(case, check, where, seen)
    if seen.outcome is Outcome.PASS:
        if case.flaky:
            return Judgement(Verdict.FLAKY, f"passed this time; the case says it is flaky: {case.issue}", bug)
        return Judgement(Verdict.XPASS, lambda: xpass_advice(case, check, where, bug), bug)
    if has_identity(bug, seen):
        if bug.blocked:
            return Judgement(Verdict.SKIP, lambda: f"blocked by another limitation: {seen.summary}", bug)
        return Judgement(Verdict.XFAIL, lambda: f"{case.issue} {seen.summary}", bug)
    return Judgement(
        Verdict.FAIL,
        lambda: (
            f"a different failure than the documented one\n"
            f"  documented: {bug.identity} ({case.path.name}:{bug.line})\n"
            f"  seen:       {seen.summary}"
        ),
        bug,
    )


def _judge_unlisted(case: Case, check: str, where: Where, seen: Observation) -> Judgement:
    if seen.outcome is Outcome.PASS:
        return Judgement(Verdict.PASS, "passed")
    if seen.outcome not in FAILURES:
        raise ValueError(f"{seen.outcome} is no failure")
    is_other_device = not speaks_of_device(case, where.device)
    if where.backend not in case.backends or is_other_device:
        for bug in case.bugs:
            there = replace(where, device=bug.device or where.device) if is_other_device else where
            if applies(bug, check, there) and has_identity(bug, seen):
                shown = f"device {where.device}" if is_other_device else f"backend {where.backend}"
                return Judgement(Verdict.XFAIL, f"{shown} shows {case.issue} too: {seen.summary}", bug)
    reason = f"expected to pass on torch {where.torch}, {where.device}, {where.backend}\n  seen: {seen.summary}"
    return Judgement(Verdict.FAIL, reason)


def xpass_advice(case: Case, check: str, where: Where, bug: Bug) -> str:
    """What a maintainer does when a documented failure is gone."""
    number = case.issue.rstrip("/").rsplit("/", 1)[-1]
    kind = "a limitation" if bug.blocked else "the documented bug"
    lines = [
        f"{case.id}::{check} passed, but {kind} was expected: fixed?",
        f"  expected: {bug.identity}",
        "  seen:     pass",
        f"  first release known to pass here: torch {where.torch}",
        f'  edit:     {case.path}:{bug.line}: end this entry\'s torch = "{bug.torch}" before {where.torch}',
        f"  find it:  pt2bugs bisect {case.id}",
    ]
    if not bug.blocked:
        lines.append(
            f'  close:    "#{number} no longer reproduces on torch {where.torch} '
            f'({where.device}, {where.backend})." at {case.issue}'
        )
    return "\n".join(lines)
