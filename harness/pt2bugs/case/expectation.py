"""The expectation of a case for a cell, and the verdict on an observation against it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion
from pt2bugs.case.cells import Cell
from pt2bugs.case.failure import documents
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.case.versions import is_version
from pt2bugs.case.vocabulary import FAILURES, Outcome, Verdict


@dataclass(frozen=True)
class Where:
    """The environment, device and backend of a cell, as far as expectations depend on them.

    `torch` and `python` are public versions, such as ``2.13.0`` and ``3.11.7``; `platform` is the name that Python
    gives the machine, `capability` torch's word for its vector instructions, `packages` names and versions of what was
    installed by version beside torch. Empty where they are not known.
    """

    torch: str
    python: str
    device: str
    backend: str
    platform: str = ""
    capability: str = ""
    packages: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Judgement:
    """A verdict and its reason, which may be a function: most cells are judged for the verdict alone."""

    verdict: Verdict
    explanation: str | Callable[[], str]
    bug: Bug | None = None

    @property
    def reason(self) -> str:
        """Why."""
        return self.explanation if isinstance(self.explanation, str) else self.explanation()


@lru_cache(maxsize=65536)
def _contains(specifiers: str, version: str) -> bool:
    # Nightlies and release candidates are releases like any other here.
    return SpecifierSet(specifiers).contains(version, prereleases=True)


def is_available(case: Case, torch: str) -> bool:
    """Return whether the API of a case exists in a release (``requires-torch``).

    Args:
        case: which one.
        torch: a public version.
    """
    return _contains(str(case.requires_torch), torch)


def applies(bug: Bug, check: str, where: Where) -> bool:
    """Return whether an entry speaks of a cell, its backend left aside.

    Args:
        bug: the entry.
        check: name of the check.
        where: environment and device.
    """
    return (
        bug.check in (None, check)
        and bug.device in (None, where.device)
        and (not bug.torch_text or _contains(bug.torch_text, where.torch))
        and (not bug.python_text or _contains(bug.python_text, where.python))
        and _has_packages(bug, where)
    )


def _has_packages(bug: Bug, where: Where) -> bool:
    # A package of unknown version is taken for one that the entry speaks of, as an unknown machine is.
    return not bug.packages or all(
        _contains(str(bug.packages[name]), version) for name, version in where.packages if name in bug.packages
    )


def pinned(extras: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return name and version of what was installed by version, or from a wheel, beside torch.

    Args:
        extras: the words of a journal line, such as ``numpy==1.26.4`` or ``toyc-1.1-py3-none-any.whl@01234567``.
    """
    return tuple(pin for word in extras if (pin := _pin(word)))


@lru_cache(maxsize=4096)
def _pin(word: str) -> tuple[str, str] | None:
    name, _, version = word.partition("==")
    wheel = word.partition("@")[0]
    if wheel.endswith(".whl"):
        with contextlib.suppress(InvalidWheelFilename, InvalidVersion):
            project, built, _, _ = parse_wheel_filename(wheel)
            return str(project), str(built)
    return (str(canonicalize_name(name)), version) if is_version(version) else None


def apart_from(extras: Iterable[str], package: str) -> tuple[str, tuple[str, ...]]:
    """Return the version of a package that was installed by version beside torch, and the words for everything else.

    Args:
        extras: the words of a journal line.
        package: its name. If none of the words pins it, its version is empty.
    """
    name, version, others = canonicalize_name(package), "", []
    for word in extras:
        if (pin := _pin(word)) and pin[0] == name:
            version = pin[1]
        else:
            others.append(word)
    return version, tuple(others)


def speaks_of_device(case: Case, device: str) -> bool:
    """Return whether the entries say what is expected on a device.

    Entries are measured on the CPU first. They say nothing about another device of the header until one of them names
    it: before that, nobody knows whether the bug is present there, and what it looks like.

    Args:
        case: with its entries.
        device: that of a cell.
    """
    return device == "cpu" or "cpu" not in case.devices or any(bug.device == device for bug in case.bugs)


def expected_bug(case: Case, check: str, where: Where) -> Bug | None:
    """Return the first entry that applies; None where the check is expected to pass.

    Entries speak of the backends the header names. A backend it does not name (a vendor's own, or
    ``aot_eager`` to see which layer has the bug) is expected to pass, and so is a device that no entry speaks of.

    Args:
        case: with its entries.
        check: name of the check.
        where: environment, device and backend.
    """
    if where.backend not in case.backends or not speaks_of_device(case, where.device):
        return None
    for bug in case.bugs:
        if bug.backend in (None, where.backend) and applies(bug, check, where):
            return bug
    return None


_CAPABILITIES = ("default", "avx2", "avx512")
"""Vector instructions of x86, each with those before it."""


def shows_there(bug: Bug, where: Where) -> bool:
    """Return whether an entry's `platform` includes a machine; it includes an unknown one.

    Args:
        bug: the entry.
        where: the machine.
    """
    if bug.platform is None or not where.platform:
        return True
    least, capability = bug.platform.lower(), where.capability.lower()
    if least in _CAPABILITIES:
        return capability in _CAPABILITIES[_CAPABILITIES.index(least) :]
    return least == capability or least in where.platform.lower().split("-")


def elsewhere(case: Case, check: str, where: Where) -> str:
    """Return why a check has nothing to show on a machine; empty if it may.

    Args:
        case: with its entries.
        check: name of the check.
        where: environment, device and machine.
    """
    bug = expected_bug(case, check, where)
    return "" if bug is None or shows_there(bug, where) else f"the bug shows only on {bug.platform}"


def judge(case: Case, check: str, where: Where, seen: Observation) -> Judgement:
    """Return the verdict on what was seen in one cell.

    Args:
        case: with its entries.
        check: name of the check.
        where: environment, device and backend.
        seen: what one run showed.
    """
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
    if documents(bug, seen):
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
            if applies(bug, check, there) and documents(bug, seen):
                shown = f"device {where.device}" if is_other_device else f"backend {where.backend}"
                return Judgement(Verdict.XFAIL, f"{shown} shows {case.issue} too: {seen.summary}", bug)
    reason = f"expected to pass on torch {where.torch}, {where.device}, {where.backend}\n  seen: {seen.summary}"
    return Judgement(Verdict.FAIL, reason)


def xpass_advice(case: Case, check: str, where: Where, bug: Bug) -> str:
    """Return what a maintainer does when a documented failure is gone.

    Args:
        case: with its entries.
        check: name of the check.
        where: environment, device and backend.
        bug: the entry that is gone.
    """
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


def expects_bug(cell: Cell, torch: str, python: str, extras: Iterable[str] = ()) -> bool:
    """Return whether the header documents the bug for a cell in an environment, to be seen and not blocked.

    Args:
        cell: a backend that the header does not name is taken for one that it does.
        torch: a public version.
        python: a version.
        extras: what is installed beside torch.
    """
    bug = expected_bug(cell.case, cell.check.name, _where(cell, torch, python, extras))
    return bug is not None and not bug.blocked


def cannot_say_here(cell: Cell, torch: str, python: str, extras: Iterable[str] = ()) -> str:
    """Return why the header says that a cell cannot answer in an environment; empty if it can.

    Args:
        cell: which one.
        torch: a public version.
        python: a version.
        extras: what is installed beside torch.
    """
    case = cell.case
    if not is_available(case, torch):
        return f"needs torch {case.requires_torch}"
    bug = expected_bug(case, cell.check.name, _where(cell, torch, python, extras))
    return f"blocked by another limitation, says {case.path.name}:{bug.line}" if bug and bug.blocked else ""


def _where(cell: Cell, torch: str, python: str, extras: Iterable[str]) -> Where:
    backends = cell.case.backends
    backend = cell.backend if cell.backend in backends else backends[0]
    return Where(torch, python, cell.device, backend, packages=pinned(extras))
