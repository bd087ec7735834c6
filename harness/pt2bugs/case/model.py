"""A case: one documented issue, one self-contained file whose header says what it expects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.errors import InputError

DEFAULT_TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 86_400.0
DEFAULT_MEMORY_MIB = 4096
_OPTIONAL_KEYS = ("device", "backend", "check", "error", "match", "frame", "output", "platform", "signal")


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a case file, and the line (from 1) where; None for the file as a whole."""

    line: int | None
    text: str


class CaseError(InputError):
    """A case file that breaks the contract. It carries every problem found, in the order of their lines.

    Cause: an unknown key or word, a specifier that does not parse, a missing check, a duplicate id.
    Remedy: the message says which file, line and key, and what would be accepted there.
    """

    def __init__(self, path: Path, problems: Sequence[Problem]) -> None:
        self.path, self.problems = path, tuple(sorted(problems, key=lambda problem: problem.line or 0))
        super().__init__(
            "\n".join(
                f"{path}{f':{problem.line}' if problem.line else ''}: {problem.text}" for problem in self.problems
            )
        )

    @classmethod
    def of(cls, path: Path, line: int | None, text: str) -> CaseError:
        """Return the error of a single problem.

        Args:
            path: of the file.
            line: from 1; None for the file as a whole.
            text: what is wrong.
        """
        return cls(path, [Problem(line, text)])

    @property
    def line(self) -> int | None:
        """The line of the first problem."""
        return self.problems[0].line

    def __reduce__(self) -> tuple[type[CaseError], tuple[Path, tuple[Problem, ...]]]:
        # The default would make a copy from the message alone.
        return type(self), (self.path, self.problems)


@dataclass(frozen=True)
class Bug:
    """One ``[[tool.pt2bugs.bug]]`` entry: where the bug is present, and what it looks like there.

    `match`, `frame` and `output` are regular expressions, searched in the message, in the innermost torch frames and in
    the printed output. `platform` is a machine (``x86_64``) or the least CPU capability (``avx2``) that shows the bug;
    `packages` are the versions, by normalized name, with which it shows.
    """

    outcome: Outcome
    torch: SpecifierSet = field(default_factory=SpecifierSet)
    device: str | None = None
    backend: str | None = None
    check: str | None = None
    python: SpecifierSet = field(default_factory=SpecifierSet)
    error: str | None = None
    match: str | None = None
    frame: str | None = None
    output: str | None = None
    platform: str | None = None
    signal: str | None = None
    blocked: bool = False
    packages: Mapping[str, SpecifierSet] = field(default_factory=dict)
    line: int = 0

    @cached_property
    def torch_text(self) -> str:
        """`torch` as text, written once: writing a specifier set takes longer than testing a version."""
        return str(self.torch)

    @cached_property
    def python_text(self) -> str:
        """`python` as text."""
        return str(self.python)

    @property
    def identity(self) -> str:
        """The documented identity on one line."""
        parts = [str(self.outcome), self.signal or "", self.error or ""]
        text = " ".join(part for part in parts if part)
        for key, where in (("match", "matching"), ("frame", "in frame"), ("output", "printing")):
            if pattern := getattr(self, key):
                text += f" {where} {pattern!r}"
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return the entry for machines: `torch`, `outcome`, and of its other keys those that it has."""
        return {
            "torch": str(self.torch),
            "outcome": str(self.outcome),
            **{key: value for key in _OPTIONAL_KEYS if (value := getattr(self, key))},
            **({"python": str(self.python)} if str(self.python) else {}),
            **({"blocked": True} if self.blocked else {}),
            **(
                {"packages": {name: str(versions) for name, versions in self.packages.items()}} if self.packages else {}
            ),
        }


@dataclass(frozen=True)
class Check:
    """A ``test_*`` or ``bench_*`` function: its name, the parameters it takes (of `PARAMETERS`), its line."""

    name: str
    parameters: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Case:
    """One documented issue. `timeout` is in seconds, `memory` in MiB, `demands` by check; `benches` are for speed.

    `upstream` is the state of the issue on the day `upstream_seen`, `reported_on` the release that its reporter had,
    `found_beside` the address of what the failure was found with, where that is not the linked issue; `network` says
    that a check needs one. `unrestricted_hash` is the hash of the case without its `requires_torch`.
    """

    id: str
    path: Path
    issue: str
    title: str
    component: str
    symptom: str
    checks: tuple[Check, ...]
    hash: str
    unrestricted_hash: str = ""
    fix: str = ""
    same_fix: str = ""
    devices: tuple[str, ...] = ("cpu",)
    bugs: tuple[Bug, ...] = ()
    timeout: float = DEFAULT_TIMEOUT_S
    memory: int = DEFAULT_MEMORY_MIB
    requires_torch: SpecifierSet = field(default_factory=SpecifierSet)
    isolation: str = "fork"
    env: Mapping[str, str] = field(default_factory=dict)
    backends: tuple[str, ...] = ("inductor",)
    extra: str = ""
    compiles: bool = True
    guard: bool = False
    flaky: bool = False
    labels: tuple[str, ...] = ()
    demands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    requires_python: str = ""
    doc: str = ""
    kind: str = "bug"
    upstream: str = ""
    upstream_seen: date | None = None
    reported_on: str = ""
    found_beside: str = ""
    network: bool = False
    benches: tuple[Check, ...] = ()

    @property
    def unmeasured(self) -> bool:
        """True if it waits for a machine with its device: no entry can say yet what the bug looks like there.

        It is neither a guard nor counted among the bugs that were seen.
        """
        return not self.guard and not self.bugs and "cpu" not in self.devices

    def check(self, name: str) -> Check:
        """Return the check of that name.

        Args:
            name: of a check of this case.
        """
        return next(check for check in self.checks if check.name == name)

    def as_json(self) -> dict[str, Any]:
        """Return what `pt2bugs list --json` prints: `as_dict` with `id` and `hash` called as in the journal."""
        values = self.as_dict()
        id_, digest = values.pop("id"), values.pop("hash")
        return {"case": id_, **values, "case_hash": digest}

    def as_dict(self) -> dict[str, Any]:
        """Return the case for machines, with the names of the attributes."""
        return {
            "id": self.id,
            "path": self.path.as_posix(),
            "title": self.title,
            "issue": self.issue,
            "fix": self.fix,
            "same_fix": self.same_fix,
            "component": self.component,
            "symptom": self.symptom,
            "labels": list(self.labels),
            "devices": list(self.devices),
            "backends": list(self.backends),
            "extra": self.extra,
            "checks": [check.name for check in self.checks],
            "demands": {name: list(demanded) for name, demanded in self.demands.items()},
            "requires_torch": str(self.requires_torch),
            "timeout": self.timeout,
            "memory": self.memory,
            "isolation": self.isolation,
            "compiles": self.compiles,
            "guard": self.guard,
            "flaky": self.flaky,
            "kind": self.kind,
            "upstream": self.upstream,
            "upstream_seen": self.upstream_seen.isoformat() if self.upstream_seen else "",
            "reported_on": self.reported_on,
            "found_beside": self.found_beside,
            "network": self.network,
            "bugs": [bug.as_dict() for bug in self.bugs],
            "doc": self.doc,
            "hash": self.hash,
        }


def pinned_release(dependencies: Iterable[str]) -> str:
    """Return the torch release that dependencies pin; empty if they pin none.

    Args:
        dependencies: those of a header.
    """
    pins = (re.fullmatch(r"torch==(\d+\.\d+\.\d+)", requirement.replace(" ", "")) for requirement in dependencies)
    return next((pin[1] for pin in pins if pin), "")
