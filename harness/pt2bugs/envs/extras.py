"""Extras: further packages some cases need, installed in environments of their own."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.specifiers import SpecifierSet


@dataclass(frozen=True)
class Extra:
    """`marks` are the distributions whose presence means that the extra is installed; `requirements`
    what to install per range of torch releases, the first range that contains the release counts."""

    marks: tuple[str, ...]
    requirements: tuple[tuple[SpecifierSet, tuple[str, ...]], ...]

    def requirements_for(self, torch: str) -> tuple[str, ...] | None:
        """What to install beside that torch; None if the extra is not made for it."""
        for specifiers, requirements in self.requirements:
            if specifiers.contains(torch, prereleases=True):
                return requirements
        return None


EXTRAS = {
    "turbine": Extra(
        marks=("iree-turbine", "shark-turbine"),
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


def installed_extras() -> tuple[str, ...]:
    """The extras of the running interpreter, sorted."""
    return tuple(sorted(name for name, extra in EXTRAS.items() if any(map(_is_installed, extra.marks))))


def _is_installed(distribution: str) -> bool:
    from importlib import metadata  # a fifth of the start of `pt2bugs list`, which does not ask

    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True
