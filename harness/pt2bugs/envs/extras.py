"""Extras: further packages some cases need, installed in environments of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version
from pt2bugs.case.model import Case
from pt2bugs.case.private import private_extras


@dataclass(frozen=True)
class Extra:
    """Packages beside torch.

    Attributes:
        distributions: the extra is installed if one of them is.
        requirements: what to install by range of torch releases; the first range that contains the release counts.
    """

    distributions: tuple[str, ...]
    requirements: tuple[tuple[SpecifierSet, tuple[str, ...]], ...]

    def requirements_for(self, torch: str) -> tuple[str, ...] | None:
        """Return what to install beside a torch; None if the extra is not made for it.

        Args:
            torch: its version.
        """
        for specifiers, requirements in self.requirements:
            if specifiers.contains(torch, prereleases=True):
                return requirements
        return None


EXTRAS = {
    "turbine": Extra(
        distributions=("iree-turbine", "shark-turbine"),
        requirements=(
            (
                SpecifierSet(">=2.3"),
                ("iree-turbine==3.9.0", "iree-base-compiler==3.9.0", "iree-base-runtime==3.9.0"),
            ),
            (
                SpecifierSet(">=2.1,<2.2"),
                ("shark-turbine==0.9.3", "iree-compiler==20231218.742", "iree-runtime==20231218.742"),
            ),
        ),
    ),
}


def known_extras() -> dict[str, Extra]:
    """Return the extras by name, with those of the private corpora that were read."""
    private = {
        name: Extra(
            tuple(Requirement(word).name for word in table["packages"] if "/" not in word),
            ((SpecifierSet(table.get("torch", "")), tuple(table["packages"])),),
        )
        for name, table in private_extras().items()
    }
    return {**private, **EXTRAS}


def installed_extras() -> tuple[str, ...]:
    """Return the extras of the running interpreter, sorted."""
    return tuple(sorted(name for name, extra in known_extras().items() if any(map(_version_of, extra.distributions))))


def installed_packages(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the versions that the running interpreter has of the packages that entries of some cases name.

    Args:
        cases: whose entries name packages.
    """
    names = sorted({name for case in cases for bug in case.bugs for name in bug.packages})
    return tuple(f"{name}=={version}" for name in names if (version := _version_of(name)))


def installed_torch() -> str:
    """Return the public version of the installed torch, which is not imported; empty if there is none."""
    try:
        return Version(_version_of("torch")).public
    except InvalidVersion:
        return ""


def _version_of(distribution: str) -> str:
    """Return the version of an installed distribution; empty if it is not there."""
    from importlib import metadata  # a fifth of the start of `pt2bugs list`, which does not ask

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
